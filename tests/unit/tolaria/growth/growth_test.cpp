#include "tolaria/growth/growth.h"

#include <algorithm>
#include <catch2/catch_approx.hpp>
#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <csignal>
#include <future>
#include <map>
#include <stdexcept>
#include <thread>

#include "support/faults/armed_fault.h"
#include "support/run_fixture.h"

namespace esper::test::growth_test {

using tolaria::RunOutcome;

namespace {

using Catch::Approx;
using leyline::Decision;
using leyline::Observation;
using leyline::SeedOperation;
using leyline::TelemetryEvent;
using Kind = RunOutcome::Kind;

config::RunConfig growing_config(int epochs) {
  auto config = small_config();
  config.epochs = epochs;
  config.growth.alpha_ticks = 2;
  config.growth.gates.min_training_epochs = 2;
  config.growth.gates.min_improvement_points = -100;
  config.growth.gates.min_gradient_ratio = 0;
  return config;
}

// Grows a seed, asks too early for its blending, blends it, then takes it away.
Decision whole_life(const Observation& seen) {
  const auto ask = [&](SeedOperation operation) {
    return Decision{{seed_command(seen, operation, "seed-0001")}, "as the test says"};
  };
  switch (seen.current_epoch) {
    case 1:
      return {{germination(seen)}, "as the test says"};
    case 2:
      return ask(SeedOperation::kStartTraining);
    case 3:
      return ask(SeedOperation::kStartGrafting);
    case 4:
      return ask(SeedOperation::kStartGrafting);
    case 5:
      return ask(SeedOperation::kCull);
    default:
      return {{}, "waits"};
  }
}

const TelemetryEvent& only(const std::vector<TelemetryEvent>& events) {
  REQUIRE(events.size() == 1);
  return events.front();
}

}  // namespace

TEST_CASE("a seed's stages are reported in events with measured and required values") {
  SmallRun it(growing_config(6), whole_life);
  REQUIRE(it.go().kind == Kind::kDone);

  const auto gates = it.events("gate_event");
  REQUIRE(gates.size() == 3);
  CHECK(gates[0].attributes.at("gate") == "G0");
  CHECK(gates[0].attributes.at("epoch") == "1");
  CHECK(gates[0].attributes.at("from") == "DORMANT");
  CHECK(gates[0].attributes.at("to") == "GERMINATED");
  CHECK(gates[0].attributes.at("measured").find("relative_output_change=") != std::string::npos);
  CHECK(gates[0].attributes.at("required") == "nonfinite_parameters=0 relative_output_change=1e-06");
  CHECK(gates[1].attributes.at("required") == "parameters=1 gradient_norm=0");
  CHECK(gates[2].attributes.at("gate") == "G2");
  CHECK(gates[2].attributes.at("measured").starts_with("epochs_in_training=2 improvement_points="));
  CHECK(gates[2].attributes.at("required") == "epochs_in_training=2 improvement_points=-100 gradient_ratio=0");

  const auto failure = only(it.events("gate_failure"));
  CHECK(failure.attributes.at("gate") == "G2");
  CHECK(failure.attributes.at("seed_id") == "seed-0001");
  CHECK(failure.attributes.at("epoch") == "3");
  CHECK(failure.attributes.at("measured").starts_with("epochs_in_training=1 "));
  CHECK(failure.attributes.at("reason").find("epochs_in_training >= 2 failed (measured 1)") != std::string::npos);

  const auto rejected = only(it.events("command_rejected"));
  CHECK(rejected.level == leyline::Level::kWarning);
  CHECK(rejected.attributes.at("command_id") == "command-3");
  CHECK(rejected.attributes.at("command_type") == "SEED");
  CHECK(rejected.attributes.at("reason").starts_with("G2 failed"));

  const auto grafts = it.events("seed_grafted");
  REQUIRE(grafts.size() == 1);
  CHECK(grafts[0].attributes.at("operation") == "GERMINATE");
  CHECK(std::stoi(grafts[0].attributes.at("moments_carried")) == 6);
  CHECK(std::stoi(grafts[0].attributes.at("moments_created")) > 0);
  CHECK(grafts[0].attributes.at("moments_dropped") == "0");
  const auto removals = it.events("seed_removed");
  REQUIRE(removals.size() == 1);
  CHECK(removals[0].attributes.at("seed_id") == grafts[0].attributes.at("seed_id"));
  CHECK(removals[0].attributes.at("moments_dropped") == grafts[0].attributes.at("moments_created"));

  std::vector<std::string> stages;
  for (const auto& stage : it.events("seed_stage")) {
    stages.push_back(stage.attributes.at("to") + "@" + stage.attributes.at("epoch"));
    CHECK(stage.attributes.at("slot") == "r0c0");
  }
  // What an epoch's end does is told with that epoch, as what was decided after it.
  CHECK(stages == std::vector<std::string>{"GERMINATED@1", "TRAINING@2", "BLENDING@4", "CULLED@5", "EMBARGOED@6"});
  CHECK(it.events("tamiyo.decision").size() == 6);
  const auto decisions = it.events("tamiyo.decision");
  CHECK(decisions[0].attributes.at("commands").find("GERMINATE ") == 0);
  CHECK(decisions[0].attributes.at("operation") == "GERMINATE");
  CHECK(decisions[0].attributes.at("slot") == "r0c0");
  CHECK(decisions[0].attributes.at("blueprint") == grafts[0].attributes.at("blueprint"));
  CHECK(decisions[1].attributes.at("operation") == "START_TRAINING");
  CHECK(decisions[1].attributes.at("seed_id") == "seed-0001");
  CHECK(decisions[5].attributes.at("operation").empty());
  CHECK(it.values("tolaria.opt.rebuilds_total") == std::vector<double>{1, 1, 1, 1, 2, 2});

  int records = 0;
  for (const auto& record : it.journal()) records += record.find("\"what\":\"stage\"") != std::string::npos ? 1 : 0;
  CHECK(records == 5);
}

TEST_CASE("the best epoch is one whose end left the network that was validated") {
  auto config = growing_config(5);
  config.growth.training = config::SeedTraining::kBlended;
  config.checkpoint.keep_last = 100;
  SmallRun it(config, [](const Observation& seen) -> Decision {
    if (seen.current_epoch == 4) return {{seed_command(seen, SeedOperation::kCull, "seed-0001")}, "as the test says"};
    if (seen.current_epoch != 2) return {};
    auto start = leyline::seed_command(command_id(seen) + "-start", SeedOperation::kStartTraining, {});
    start.seed_operation->slot = seen.slots.front().slot;
    return {{germination(seen), start}, "as the test says"};
  });
  std::map<std::uint32_t, std::uint32_t> best;  // by epoch
  std::map<std::uint32_t, bool> has_patience;   // likewise
  it.sink.on_packet = [&](const leyline::TelemetryPacket&) {
    if (it.progress.best) best[it.progress.epoch] = it.progress.best->epoch;
    has_patience[it.progress.epoch] = it.progress.patience.has_value();
  };
  REQUIRE(it.go().kind == Kind::kDone);
  const auto losses = it.values("tolaria.validation.loss");
  REQUIRE(losses.size() == 5);
  for (std::size_t i = 1; i < 4; ++i) REQUIRE(losses[i] < losses[i - 1]);  // each would be the best one
  CHECK(best.at(1) == 1);
  CHECK(best.at(2) == 1);  // the seed is heard from now on
  CHECK(best.at(3) == 1);  // its alpha rose
  CHECK(best.at(4) == 1);  // it is gone
  CHECK(has_patience.at(3));
  CHECK_FALSE(has_patience.at(4));  // its figures are those of the network with the seed
  CHECK(has_patience.at(5));
  const auto reported = it.values("tolaria.validation.best_epoch");
  REQUIRE(reported.size() == 5);
  for (std::size_t i = 0; i < 5; ++i) CHECK(reported[i] == best.at(static_cast<std::uint32_t>(i + 1)));
  const auto& [epoch, figures] = *it.progress.best;
  const auto entries = tolaria::list_checkpoints(it.files, kCheckpoints);
  const auto name = tolaria::best_checkpoint(it.files, kCheckpoints, kJournal);
  const auto entry = std::ranges::find(entries, name, &tolaria::CheckpointEntry::name);
  REQUIRE(entry != entries.end());
  CHECK(entry->epoch == epoch);
  SmallRun saved(config, quiet(), *tolaria::read_checkpoint(it.files, entry->path));
  CHECK(saved.measure().running.loss == figures.loss);
}

TEST_CASE("what the policy's service measures goes out with the epoch, and a rejected command is observed no further") {
  SmallRun it(growing_config(3));
  tamiyo::ServiceSettings calm;
  calm.risk.loss_spike = calm.risk.loss_warning = calm.risk.loss_volatility = calm.risk.gradient_variance = 1e9;
  it.policy = tamiyo::RunPolicy(std::make_unique<tamiyo::PolicyService>(
      std::make_unique<tamiyo::Consultation>(
          scripted([](const Observation& seen) { return Decision{{germination(seen)}, "as the test says"}; }),
          base::Clock(), it.facts.config.safety.policy_deadline),
      calm, base::Clock()));
  REQUIRE(it.go().kind == Kind::kDone);
  CHECK(it.events("seed_grafted").size() == 1);
  CHECK(it.events("tamiyo.decision").size() == 3);
  CHECK(it.values("tamiyo.breaker.inference_state") == std::vector<double>{1, 1, 1});
  CHECK(it.values("tamiyo.conservative_mode") == std::vector<double>{0, 0, 0});
  // The first is observed for an epoch; the second is rejected, since the slot is taken; then the run ends.
  CHECK(it.values("tamiyo.field_reports.published_total") == std::vector<double>{0, 1, 3});
  CHECK(it.values("tamiyo.field_reports.pending_total") == std::vector<double>{1, 1, 0});
}

TEST_CASE("a policy whose decisions cannot be trusted is asked no more for a while, and the run goes on") {
  SmallRun it(growing_config(5));
  tamiyo::ServiceSettings settings;
  settings.breaker.open_time = std::chrono::hours(1);
  it.policy = tamiyo::RunPolicy(std::make_unique<tamiyo::PolicyService>(
      std::make_unique<tamiyo::Consultation>(
          scripted([](const Observation& seen) {
            return Decision{{leyline::germination(command_id(seen), "r0c0", "no_such_blueprint")}, "as the test says"};
          }),
          base::Clock(), it.facts.config.safety.policy_deadline),
      settings, base::Clock()));
  REQUIRE(it.go().kind == Kind::kDone);
  CHECK(it.events("seed_grafted").empty());
  CHECK(it.events("tamiyo_fallback_blueprint").size() == 3);
  CHECK(only(it.events("breaker_event")).attributes.at("to") == "OPEN");
  CHECK(it.events("tolaria.tamiyo_error").size() == 3);
  CHECK(it.events("tolaria.tamiyo_timeout").empty());
  CHECK(it.values("tamiyo.breaker.inference_state") == std::vector<double>{1, 1, 2, 2, 2});
  CHECK(it.values("tolaria.mode.conservative") == std::vector<double>{1, 1, 1, 1, 1});
}

TEST_CASE("a germination that is rejected is one warning, though its seed was to start at once") {
  SmallRun it(growing_config(2), [](const Observation& seen) {
    auto start = leyline::seed_command(command_id(seen) + "-start", SeedOperation::kStartTraining, {});
    start.seed_operation->slot = "r0c0";
    return Decision{{leyline::germination(command_id(seen), "r0c0", "no_such_blueprint"), start}, "as the test says"};
  });
  REQUIRE(it.go().kind == Kind::kDone);
  const auto rejected = it.events("command_rejected");
  REQUIRE_FALSE(rejected.empty());
  for (const auto& event : rejected) CHECK(event.attributes.at("blueprint") == "no_such_blueprint");
}

TEST_CASE("a policy that does not answer costs an epoch its deadline, no command, and is counted") {
  std::promise<void> promise;
  const auto opened = promise.get_future().share();
  auto config = growing_config(5);
  config.safety.policy_deadline = std::chrono::milliseconds(500);
  SmallRun it(config, [opened](const Observation& seen) -> Decision {
    if (seen.current_epoch == 2) opened.wait();
    return {{germination(seen)}, "late or not"};
  });
  // Epoch 3 comes while epoch 2 is still being thought about; then that is over, which nothing shows: it is dropped.
  it.sink.on_packet = [&](const leyline::TelemetryPacket& packet) {
    if (packet.packet_id != "small-run-epoch-3") return;
    promise.set_value();
    std::this_thread::sleep_for(std::chrono::milliseconds(300));
    CHECK(it.policy.state().find("\"epoch\":1") != std::string::npos);
  };
  REQUIRE(it.go().kind == Kind::kDone);

  const auto timeouts = it.events("tolaria.tamiyo_timeout");
  REQUIRE(timeouts.size() == 2);
  CHECK(timeouts[0].level == leyline::Level::kWarning);
  CHECK(timeouts[0].attributes.at("error") == "no decision within 500ms");
  CHECK(std::stod(timeouts[0].attributes.at("latency_ms")) >= 500);
  CHECK(timeouts[0].attributes.at("deadline_ms") == "500.000000");
  CHECK(timeouts[1].attributes.at("error") == "an earlier decision is still running");
  CHECK(it.values("tolaria.timeout.tamiyo_total") == std::vector<double>{0, 1, 2, 2, 2});
  CHECK(it.values("tolaria.mode.conservative") == std::vector<double>{0, 1, 1, 0, 0});
  CHECK(it.values("tolaria.epochs.failed") == std::vector<double>{0, 1, 2, 2, 2});
  CHECK(it.values("tolaria.timeout.tamiyo_last_ms")[0] == 0);
  CHECK(it.values("tolaria.timeout.tamiyo_last_ms")[4] >= 500);
  // The late answer's command was not carried out: one seed of epoch 1, one refusal of epoch 4 and 5 each.
  CHECK(it.events("tamiyo.decision").size() == 3);
  CHECK(it.events("seed_grafted").size() == 1);
}

TEST_CASE("a policy that throws costs an epoch its commands and no more") {
  SmallRun it(growing_config(3), [](const Observation& seen) -> Decision {
    if (seen.current_epoch == 2) throw std::runtime_error("no idea");
    return {{}, "fine"};
  });
  REQUIRE(it.go().kind == Kind::kDone);
  CHECK(only(it.events("tolaria.tamiyo_error")).attributes.at("error") == "no idea");
  CHECK(it.events("tolaria.tamiyo_timeout").empty());
  CHECK(it.values("tolaria.mode.conservative") == std::vector<double>{0, 1, 0});
  CHECK(it.values("tolaria.timeout.tamiyo_total") == std::vector<double>{0, 0, 0});
  CHECK(it.values("tolaria.epochs.failed").back() == 1);
  CHECK(it.run.progress.conservative_epochs == 1);
}

TEST_CASE("a control's events follow the decision they belong to, and come once though it was interrupted") {
  auto config = growing_config(4);
  config.growth.gates.evidence = config::Evidence::kControl;
  config.growth.control.budget = 1;
  bool interrupts = true;
  const auto script = [&](const Observation& seen) -> Decision {
    if (seen.current_epoch != 2) return {};
    if (interrupts) raise(SIGTERM);
    return {{germination(seen)}, "as the test says"};
  };
  const auto names = [](const SmallRun& it) {
    std::string found;
    for (const auto& packet : it.sink.packets()) {
      for (const auto& event : packet.events) {
        const std::string name(event.description);
        if (name == "tamiyo.decision" || name == "seed_grafted" || name == "tolaria.control_measured") {
          found += name + " ";
        }
      }
    }
    return found;
  };
  SmallRun it(config, script);
  CHECK(it.go().kind == Kind::kInterrupted);
  CHECK(names(it) == "tamiyo.decision ");  // of the first epoch
  interrupts = false;
  SmallRun resumed(config, script, newest_checkpoint(it));
  CHECK(resumed.go().kind == Kind::kDone);
  CHECK(names(resumed) ==
        "tamiyo.decision seed_grafted tolaria.control_measured tamiyo.decision tamiyo.decision ");  // of 2, 3, 4
}

TEST_CASE("invalid commands are rejected, reported, and change nothing") {
  SmallRun plain(growing_config(2));
  REQUIRE(plain.go().kind == Kind::kDone);
  SmallRun it(growing_config(2), [](const Observation& seen) {
    auto nowhere = germination(seen);
    nowhere.seed_operation->slot = "r9c9";
    auto no_such_seed = seed_command(seen, SeedOperation::kFossilize, "seed-\xff");
    no_such_seed.command_id += "b";
    leyline::AdaptationCommand empty;
    return Decision{{nowhere, no_such_seed, empty}, "garbage"};
  });
  REQUIRE(it.go().kind == Kind::kDone);
  CHECK(it.events("command_rejected").size() == 6);
  CHECK(differing(it.bits(), plain.bits()).empty());
}

TEST_CASE("the policy sees how validation changed over its window, paired over the samples") {
  std::vector<std::vector<leyline::ValidationChange>> seen;
  auto config = growing_config(5);
  config.policy.heuristic.window_epochs = 2;
  SmallRun it(config, [&seen](const Observation& observation) {
    seen.push_back(observation.validation_changes);
    return Decision{};
  });
  REQUIRE(it.go().kind == Kind::kDone);
  const auto losses = it.values("tolaria.validation.loss");
  REQUIRE(losses.size() == 5);
  CHECK(seen.at(0).empty());
  CHECK(seen.at(1).size() == 1);
  REQUIRE(seen.at(4).size() == 2);
  CHECK(seen[4][0].loss == Approx(losses[4] - (losses[3] + losses[2]) / 2).margin(1e-6));
  CHECK(seen[4][1].loss == Approx((losses[4] + losses[3]) / 2 - (losses[2] + losses[1]) / 2).margin(1e-6));
  CHECK(seen[4][1].loss_error->degrees == 15);  // of 16 samples
  CHECK(it.progress.window.epochs() == 4);
}

TEST_CASE("an epoch that was undone leaves the samples' figures of those before it") {
  std::vector<std::vector<leyline::ValidationChange>> seen;
  const ArmedFault bad("tolaria.validation_loss", 3);
  SmallRun it(growing_config(4), [&seen](const Observation& observation) {
    seen.push_back(observation.validation_changes);
    return germinates_at_once(observation);
  });
  REQUIRE(it.go().kind == Kind::kDone);
  REQUIRE(it.events("tolaria.rollback.restored").size() == 1);
  REQUIRE(seen.size() == 4);
  REQUIRE(seen[1].size() == 1);
  REQUIRE(seen[2].size() == 1);
  CHECK(seen[2][0].loss == seen[1][0].loss);
  CHECK(seen[3].size() == 2);
}

TEST_CASE("a network that lost an active seed has not collapsed by the losses of the network with it") {
  auto config = growing_config(5);
  config.growth.training = config::SeedTraining::kBlended;
  config.training.optimizer.lr = 1e-9;
  const bool is_active = GENERATE(true, false), is_undone = GENERATE(true, false);
  CAPTURE(is_active, is_undone);
  const ArmedFault bad("tolaria.validation_loss", is_undone ? 4 : 100);
  SmallRun it(config, [=](const Observation& seen) -> Decision {
    if (seen.current_epoch == 4 && !is_undone)
      return {{seed_command(seen, SeedOperation::kCull, "seed-0001")}, "as the test says"};
    if (seen.current_epoch != 2) return {};
    auto start = leyline::seed_command(command_id(seen) + "-start", SeedOperation::kStartTraining, {});
    start.seed_operation->slot = seen.slots.front().slot;
    return {is_active ? std::vector{germination(seen), start} : std::vector{germination(seen)}, "as the test says"};
  });
  it.facts.num_classes = 3;
  {
    const at::NoGradGuard no_grad;  // the host guesses
    for (const auto& [id, tensor] : step::all_tensors(*it.model, torch::kCPU)) {
      if (id == "host.head.weight" || id == "host.head.bias") tensor.detach().zero_();
    }
  }
  std::map<std::uint32_t, std::int32_t> before_removal;  // how many losses of the watch are, by epoch
  it.sink.on_packet = [&](const leyline::TelemetryPacket& packet) {
    if (!packet.packet_id.starts_with("small-run-epoch-")) return;
    before_removal[it.progress.epoch] = it.progress.safety.losses_before_removal;
    // As if the network with the seed had long been better than guessing: at 10 losses the next one is judged. The
    // epoch whose end removes the seed adds one; if it was undone, one without the seed.
    if (it.progress.epoch == 3 && is_active) it.progress.safety.losses.assign(is_undone ? 10 : 9, 0.01);
  };
  const auto outcome = it.go();
  INFO(outcome.reason);
  CHECK(outcome.kind == Kind::kDone);
  CHECK(it.events("tolaria.rollback.restored").size() == (is_undone ? 1 : 0));
  REQUIRE(before_removal.contains(4));
  CHECK(before_removal[4] == (is_active ? 10 : 0));
  CHECK(it.progress.safety.losses.size() == (!is_active ? 5 : is_undone ? 12 : 11));
}

TEST_CASE("without a policy no sample's figures are kept") {
  auto config = growing_config(2);
  config.policy.kind = config::PolicyKind::kNone;
  SmallRun it(config);
  REQUIRE(it.go().kind == Kind::kDone);
  CHECK(it.progress.window.epochs() == 0);
}

TEST_CASE("a seed with a schedule of its own reports its own learning rate") {
  auto config = growing_config(4);
  config.growth.seed_schedule.scale = 0.5;
  double of_seed = 0, of_run = 0;
  SmallRun it(config, [&](const Observation& seen) {
    if (!seen.seed_states.empty()) of_seed = seen.seed_states.front().learning_rate;
    of_run = seen.training_metrics.at("optimizer_lr");
    return whole_life(seen);
  });
  REQUIRE(it.go().kind == Kind::kDone);
  CHECK(of_run == Approx(0.05));
  CHECK(of_seed == Approx(0.025));
}

}  // namespace esper::test::growth_test
