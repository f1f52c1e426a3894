// Growth that goes wrong in a run on real data: it is refused or undone with a named reason, the run goes on, and
// nothing is half applied.

#include <c10/util/Exception.h>

#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <chrono>
#include <cmath>
#include <csignal>
#include <functional>
#include <limits>
#include <nlohmann/json.hpp>
#include <set>

#include "base/error.h"
#include "base/fault.h"
#include "config/loading/load.h"
#include "support/faults/armed_fault.h"
#include "support/faults/failing_allocator.h"
#include "support/run_fixture.h"

namespace esper::test::good_state_test {

using tolaria::RunOutcome;

namespace {

using leyline::AdaptationCommand;
using leyline::Decision;
using leyline::Observation;
using leyline::SeedOperation;
using Kind = RunOutcome::Kind;

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

config::RunConfig digits_config(int epochs) {
  auto config = small_config();
  config.epochs = epochs;
  config.data.kind = config::DataKind::kDigits;
  config.data.batch_size = 64;
  config.host.hidden = {12, 6};
  config.training.optimizer.momentum = 0.9;
  config.growth.alpha_ticks = 2;
  config.growth.gates.min_training_epochs = 1;
  config.growth.gates.min_improvement_points = -100;
  config.growth.gates.min_gradient_ratio = 0;
  return config;
}

AdaptationCommand germination_at(const Observation& seen, const std::string& slot, const std::string& blueprint) {
  auto command = seed_command(seen, SeedOperation::kGerminate, "");
  command.seed_operation->slot = slot;
  command.seed_operation->blueprint_id = blueprint;
  return command;
}

// Germinates at epoch 1, trains from epoch 2, blends from epoch 3.
Decision grows(const Observation& seen) {
  const auto ask = [&](SeedOperation operation) {
    return Decision{{seed_command(seen, operation, "seed-0001")}, "as the test says"};
  };
  switch (seen.current_epoch) {
    case 1:
      return {{germination_at(seen, "r0c0", "mlp")}, "as the test says"};
    case 2:
      return ask(SeedOperation::kStartTraining);
    case 3:
      return ask(SeedOperation::kStartGrafting);
    default:
      return {{}, "waits"};
  }
}

void check_finite(const SmallRun& it, int epochs) {
  for (const char* name : {"tolaria.training.loss", "tolaria.validation.loss", "tolaria.training.gradient_norm"}) {
    const auto values = it.values(name);
    CHECK(values.size() == static_cast<std::size_t>(epochs));
    for (const double value : values) CHECK(std::isfinite(value));
  }
  for (const auto& [id, tensor] : it.bits()) {
    if (tensor.is_floating_point() && !at::isfinite(tensor).all().item<bool>()) FAIL_CHECK(id << " is not finite");
  }
}

// Multiplies the parameters of a group.
void spoil(SmallRun& it, const std::string& group_id, double factor) {
  const at::NoGradGuard no_grad;
  for (const auto& group : it.run.model.network.parameter_groups()) {
    if (group.id != group_id) continue;
    for (const auto& parameter : group.parameters) torch::Tensor(parameter.tensor).add_(0.01).mul_(factor);
  }
}

// Of the host: parameters and moments.
std::map<std::string, torch::Tensor> host_bits(const SmallRun& it) {
  auto bits = it.bits();
  std::erase_if(bits, [](const auto& entry) { return entry.first.find("host.") == std::string::npos; });
  return bits;
}

std::string epoch_packet(int epoch) { return "small-run-epoch-" + std::to_string(epoch); }

// Where a seed's numbers explode while the losses of the steps stay finite.
config::RunConfig exploding_config(config::Evidence evidence) {
  auto config = digits_config(8);
  config.training.optimizer.lr = 1e-9;
  config.training.optimizer.momentum = 0;
  config.checkpoint.every = {100, base::Length::Unit::kEpochs};
  config.growth.gates.evidence = evidence;
  config.growth.gates.min_worth_loss = -1;
  config.growth.control.budget = 1;
  return config;
}

}  // namespace

TEST_CASE("each invalid command is rejected with its code, and the run is the one without it, bit for bit") {
  struct Case {
    const char* code;
    std::function<AdaptationCommand(const Observation&)> make;
  };
  const std::vector<Case> cases = {
      {"unknown_blueprint", [](auto& seen) { return germination_at(seen, "r0c1", "teapot"); }},
      {"unknown_blueprint", [](auto& seen) { return germination_at(seen, "r0c1", "conv_heavy"); }},
      {"blueprint_does_not_fit", [](auto& seen) { return germination_at(seen, "r0c1", "lora"); }},
      {"blueprint_not_allowed", [](auto& seen) { return germination_at(seen, "r0c1", "noop"); }},
      {"unknown_slot", [](auto& seen) { return germination_at(seen, "r9c9", "mlp"); }},
      {"slot_occupied", [](auto& seen) { return germination_at(seen, "r0c0", "mlp"); }},
      {"illegal_move", [](auto& seen) { return seed_command(seen, SeedOperation::kFossilize, "seed-0001"); }},
      {"illegal_move", [](auto& seen) { return seed_command(seen, SeedOperation::kStabilize, "seed-0001"); }},
      {"unknown_seed", [](auto& seen) { return seed_command(seen, SeedOperation::kCull, "seed-0007"); }},
      {"expired_command",
       [](auto& seen) {
         auto command = seed_command(seen, SeedOperation::kCull, "seed-0001");
         command.issued_at_ns = 1;
         command.execution_deadline_ms = 5;
         return command;
       }},
      {"duplicate_command",
       [](auto& seen) {
         auto command = seed_command(seen, SeedOperation::kCull, "seed-0001");
         command.command_id = "command-1";
         return command;
       }},
      {"unsupported_parameter",
       [](auto& seen) {
         auto command = seed_command(seen, SeedOperation::kStartTraining, "seed-0001");
         command.seed_operation->parameters["alpha"] = 1.5;
         return command;
       }},
      {"unsupported_operation", [](auto& seen) { return seed_command(seen, SeedOperation::kFineTune, "seed-0001"); }},
  };
  SmallRun plain(digits_config(5), grows);
  REQUIRE(plain.go().kind == Kind::kDone);

  SmallRun it(digits_config(5), [&](const Observation& seen) {
    auto decision = grows(seen);
    if (seen.current_epoch != 1 && seen.current_epoch != 4) return decision;
    int number = 0;
    for (const auto& bad : cases) {
      auto command = bad.make(seen);
      if (std::string_view(bad.code) != "duplicate_command")
        command.command_id.append("-").append(std::to_string(++number));
      decision.commands.push_back(command);
    }
    return decision;
  });
  REQUIRE(it.go().kind == Kind::kDone);
  check_finite(it, 5);
  const auto rejected = it.events("command_rejected");
  REQUIRE(rejected.size() == 2 * cases.size());
  for (std::size_t i = 0; i < rejected.size(); ++i) {
    const std::string expected = cases[i % cases.size()].code;
    const auto& told = rejected[i].attributes;
    // By epoch 4 the seed blends: what was out of order then may be judged by its gate now.
    const bool later = i >= cases.size() && expected == "illegal_move";
    if (later) {
      CHECK((told.at("code") == "illegal_move" || told.at("code") == "gate_failed"));
    } else {
      CHECK(told.at("code") == expected);
    }
    CHECK_FALSE(told.at("reason").empty());
  }
  CHECK(differing(it.bits(), plain.bits()).empty());
}

TEST_CASE("a seed with NaN in its parameters is culled, and what it did to the rest is undone") {
  for (const int after : {2, 3, 4}) {  // TRAINING, BLENDING, later in the blend
    CAPTURE(after);
    SmallRun it(digits_config(7), grows);
    std::map<std::string, torch::Tensor> sound;
    it.sink.on_packet = [&](const leyline::TelemetryPacket& packet) {
      if (packet.packet_id == epoch_packet(after)) {
        sound = host_bits(it);
        spoil(it, "seed-0001", kNaN);
      }
      if (packet.packet_id == epoch_packet(after + 1)) CHECK(differing(host_bits(it), sound).empty());
    };
    REQUIRE(it.go().kind == Kind::kDone);
    REQUIRE_FALSE(sound.empty());
    check_finite(it, 7);
    const auto restored = it.events("tolaria.rollback.restored");
    REQUIRE(restored.size() == 1);
    CHECK(restored[0].level == leyline::Level::kWarning);
    const std::string reason = "host.block0.linear.weight is not finite";
    CHECK(restored[0].attributes.at("reason") == reason);
    CHECK(restored[0].attributes.at("epoch") == std::to_string(after + 1));
    CHECK(restored[0].attributes.at("to_epoch") == std::to_string(after));
    std::string culled;
    for (const auto& stage : it.events("seed_stage")) {
      if (stage.attributes.at("to") == "CULLED")
        culled = stage.attributes.at("reason") + "@" + stage.attributes.at("epoch");
    }
    CHECK(culled == reason + " while it grew@" + std::to_string(after + 1));
    CHECK(it.events("tolaria.diverged").empty());
    CHECK(it.values("tolaria.rollback.fast_hits_total").back() == 1);
    CHECK(it.values("tolaria.rollback.fast_size_bytes").back() > 0);  // also where nothing grows
    CHECK(it.values("tolaria.rollback.fast_size_bytes")[1] > 0);
    CHECK(it.values("tolaria.seeds.active").back() == 0);
  }
}

TEST_CASE("a seed that makes the loss explode is culled, whether the loss stays finite or not") {
  for (const double factor : {-1e4, 1e30}) {
    CAPTURE(factor);
    auto config = digits_config(7);
    config.training.optimizer.lr = factor > 1e10 ? 0.05 : 1e-9;  // that the finite one stays as it is
    config.training.optimizer.momentum = 0;
    SmallRun it(config, grows);
    it.sink.on_packet = [&](const leyline::TelemetryPacket& packet) {
      if (packet.packet_id == epoch_packet(4)) spoil(it, "seed-0001", factor);
    };
    REQUIRE(it.go().kind == Kind::kDone);
    check_finite(it, 7);
    const auto restored = it.events("tolaria.rollback.restored");
    REQUIRE(restored.size() == 1);
    const std::string reason = restored[0].attributes.at("reason");
    CHECK((reason.find("not finite") != std::string::npos) == (factor > 1e10));
    CHECK((reason.find("the validation loss rose from") != std::string::npos) == (factor < 1e10));
    for (const double loss : it.values("tolaria.validation.loss")) CHECK(loss < 12);
    CHECK(it.values("tolaria.seeds.active").back() == 0);
  }
}

TEST_CASE(
    "the youngest active seed goes, and all growing ones if the next epoch fails, too; then the run may grow again") {
  auto config = digits_config(10);
  config.growth.embargo_epochs = 2;
  SmallRun it(config, [](const Observation& seen) -> Decision {
    auto decision = grows(seen);
    if (seen.current_epoch == 2) decision.commands.push_back(germination_at(seen, "r0c1", "mlp"));
    if (seen.current_epoch == 8) decision.commands.push_back(germination_at(seen, "r0c0", "lora"));
    if (!decision.commands.empty()) decision.commands.back().command_id += "-last";
    return decision;
  });
  std::vector<std::string> spoilt = {"seed-0001"};
  std::vector<std::string> expected = {"seed-0001@4"};
  bool knows_of_later = false;
  SECTION("an epoch") {}
  SECTION("an epoch, while the journal has a failure in the first step after it") { knows_of_later = true; }
  SECTION("two epochs in a row") {
    spoilt.emplace_back("host");
    expected.emplace_back("seed-0002@5");
  }
  it.sink.on_packet = [&](const leyline::TelemetryPacket& packet) {
    if (knows_of_later && packet.packet_id == epoch_packet(3))
      it.progress.safety.apply({1, tolaria::Reaction::kLowerRate, 4 * it.facts.steps_per_epoch(), 0.5});
    for (std::size_t i = 0; i < spoilt.size(); ++i) {
      if (packet.packet_id == epoch_packet(3 + static_cast<int>(i))) spoil(it, spoilt[i], kNaN);
    }
  };
  REQUIRE(it.go().kind == Kind::kDone);
  check_finite(it, 10);
  std::vector<std::string> stages;
  for (const auto& stage : it.events("seed_stage")) {
    if (stage.attributes.at("slot") == "r0c0" && std::stoi(stage.attributes.at("epoch")) >= 4) {
      stages.push_back(stage.attributes.at("to") + "@" + stage.attributes.at("epoch"));
    }
  }
  // The whole embargo, as after any cull.
  CHECK(stages == std::vector<std::string>{"CULLED@4", "EMBARGOED@5", "RESETTING@6", "DORMANT@7", "GERMINATED@8"});
  std::vector<std::string> culled;
  for (const auto& removal : it.events("seed_removed")) {
    if (std::stoi(removal.attributes.at("epoch")) < 10)
      culled.push_back(removal.attributes.at("seed_id") + "@" + removal.attributes.at("epoch"));
  }
  CHECK(culled == expected);
  CHECK(it.events("tolaria.rollback.restored").size() == spoilt.size());
}

TEST_CASE("where no seed grows, the run goes back before the bad step, passes it over, and goes on") {
  SmallRun it(digits_config(4));
  it.sink.on_packet = [&](const leyline::TelemetryPacket& packet) {
    if (packet.packet_id == epoch_packet(2)) spoil(it, "host", kNaN);
  };
  CHECK(it.go().kind == Kind::kDone);
  check_finite(it, 4);
  const auto skipped = it.events("tolaria.step_skipped");
  REQUIRE(skipped.size() == 1);
  CHECK(skipped[0].attributes.at("epoch") == "3");
  CHECK(skipped[0].attributes.at("reason").find("host.") == 0);
  CHECK(it.events("tolaria.rollback.restored").size() == 1);
  CHECK(it.progress.safety.reactions == 1);
  CHECK(it.progress.safety.skipped_steps.empty());
  CHECK(it.progress.safety.failures_before(it.progress.step + 1) == 0);
  CHECK(it.progress.safety.good_step == it.progress.step);
  const auto journal = it.journal();
  CHECK(std::ranges::count_if(journal, [](const auto& record) {
          return record.find(R"("reaction":"skip_step")") != std::string::npos;
        }) == 1);
}

TEST_CASE("a step that is passed over halts no run, however many epochs failed before") {
  auto config = digits_config(2);
  config.safety.emergency.failed_epochs = 2;
  const ArmedFault bad("tolaria.nan_input", 3);
  SmallRun it(config);
  it.progress.safety.failed_epochs = 2;  // as of a run that was halted and is resumed
  CHECK(it.go().kind == Kind::kDone);
  CHECK(it.events("tolaria.step_skipped").size() == 1);
  CHECK(it.events("tolaria.emergency.halt").empty());
}

TEST_CASE("a step that does not fit into memory is undone, and the run goes back with smaller microbatches") {
  const ArmedFault fault("tolaria.step_memory", 15);
  SmallRun it(digits_config(4));
  const auto outcome = it.go();
  REQUIRE(outcome.kind == Kind::kRestart);
  REQUIRE(outcome.restart);
  CHECK(
      (outcome.restart->reactions == std::vector{tolaria::ReactionRecord{1, tolaria::Reaction::kSplitBatches, 14, 2}}));
  CHECK(outcome.restart->step == 14);
  CHECK(outcome.restart->newest_step == 14);
  CHECK(it.events("tolaria.batches_split").size() == 1);
  // What went well before is on the disk.
  CHECK(newest_checkpoint(it).info.step == it.progress.step);
  CHECK(it.progress.step <= 14);
}

TEST_CASE("a step in smaller microbatches learns what the whole one does, but for rounding") {
  SmallRun whole(digits_config(2)), split(digits_config(2));
  split.progress.safety.parts = 3;
  REQUIRE(whole.go().kind == Kind::kDone);
  REQUIRE(split.go().kind == Kind::kDone);
  const auto reference = whole.bits(), found = split.bits();
  for (const auto& [id, tensor] : reference) {
    if (!tensor.is_floating_point() || id.starts_with("metrics.")) continue;
    CAPTURE(id);
    CHECK(at::allclose(tensor, found.at(id), 1e-3, 1e-4));
  }
  CHECK(whole.values("tolaria.training.samples_per_s").size() == 2);
  CHECK(whole.values("tolaria.training.steps_total") == split.values("tolaria.training.steps_total"));
}

TEST_CASE("a return that takes longer than its deadline is reported, and halts a run that says so, saved") {
  for (const bool halts : {false, true}) {
    auto config = digits_config(4);
    config.safety.rollback_deadline = std::chrono::milliseconds(50);
    config.safety.emergency.halt_on_late_rollback = halts;
    const ArmedFault slow("tolaria.rollback_slow"), bad("tolaria.nan_input", 15);
    SmallRun it(config);
    const auto outcome = it.go();
    CHECK(outcome.kind == (halts ? Kind::kHalted : Kind::kDone));
    CHECK(it.events("tolaria.emergency.escalated").size() == 1);
    CHECK(it.events("tolaria.emergency.halt").size() == (halts ? 1 : 0));
    if (halts) {
      CHECK(exit_code_of(outcome) == base::ExitCode::kTryAgain);
      CHECK(newest_checkpoint(it).info.step == it.progress.step);
    }
    CHECK(it.values("tolaria.rollback.deadline_exceeded_total").back() == 1);
    CHECK(it.values("tolaria.rollback.restore_latency_ms").back() > 50);
    CHECK(it.values("tolaria.emergency.halt").back() == (halts ? 1 : 0));
  }
}

TEST_CASE("a state beyond the limit is not kept in memory, and the run goes back to a checkpoint instead") {
  auto config = digits_config(4);
  config.safety.snapshot_limit_mb = 1;
  config.host.hidden = {1024, 256};  // over a megabyte
  const ArmedFault bad("tolaria.nan_input", 15);
  SmallRun it(config);
  const auto outcome = it.go();
  REQUIRE(outcome.kind == Kind::kRestart);
  CHECK((outcome.restart->reactions.front().reaction == tolaria::Reaction::kSkipStep));
  CHECK(it.events("tolaria.rollback.restored").empty());
  CHECK(it.events("tolaria.rollback.restore_failed").empty());
  CHECK(it.values("tolaria.rollback.fast_misses_total").back() == 1);
  CHECK(it.values("tolaria.rollback.failures_total").back() == 0);

  SmallRun again(config);  // built again
  again.run.restart_report = {
      outcome.reason, outcome.restart->epoch, outcome.restart->step, {}, outcome.restart->figures};
  again.go();
  CHECK(again.events("tolaria.rollback.restored").size() == 1);
  CHECK(again.values("tolaria.rollback.fast_misses_total").back() == 1);
}

TEST_CASE("a bad epoch before which there is no checkpoint is reported as a return that failed") {
  auto config = digits_config(20);
  config.checkpoint.every = {100, base::Length::Unit::kEpochs};
  config.checkpoint.keep_best = false;
  const ArmedFault bad("tolaria.validation_loss", 14, 3);
  SmallRun it(config);
  CHECK(it.go().kind == Kind::kDiverged);
  const auto failed = it.events("tolaria.rollback.restore_failed");
  REQUIRE(failed.size() == 1);
  CHECK(failed[0].attributes.at("detail") == "no checkpoint from before it");
  CHECK(it.values("tolaria.rollback.failures_total").back() == 1);
}

TEST_CASE("a gradient that is not finite is named, with clipping, too") {
  const auto skipped = [](double clip_norm) {
    auto config = digits_config(3);
    config.host.hidden = {4, 64, 64};  // the fault is in the third layer's gradient
    config.training.clip_norm = clip_norm;
    config.step.lane = config::Lane::kEager;
    const ArmedFault bad("step.gradient", 15);
    SmallRun it(config);
    CHECK(it.go().kind == Kind::kDone);
    const auto events = it.events("tolaria.step_skipped");
    REQUIRE(events.size() == 1);
    return events[0].attributes.at("reason");
  };
  const std::string without = skipped(0);
  CAPTURE(without);
  CHECK(without.find("weight") != without.npos);
  CHECK(skipped(0.5) == without);
}

TEST_CASE("where nothing may be done about a bad step, or no earlier state could be kept, it ends the run") {
  auto strict = digits_config(4);
  strict.safety.most_skipped_steps = strict.safety.most_rate_cuts = 0;
  SmallRun alone(strict);
  alone.sink.on_packet = [&](const leyline::TelemetryPacket& packet) {
    if (packet.packet_id == epoch_packet(2)) spoil(alone, "host", kNaN);
  };
  CHECK(alone.go().kind == Kind::kDiverged);
  const auto diverged = alone.events("tolaria.diverged");
  REQUIRE(diverged.size() == 1);
  CHECK(diverged[0].attributes.at("loss").ends_with("nan"));      // of the epoch's only step
  CHECK_FALSE(diverged[0].attributes.contains("gradient_norm"));  // no step had a finite one
  CHECK(alone.events("tolaria.rollback.restored").empty());
  CHECK(alone.events("tolaria.rollback.restore_failed").empty());

  auto& memory = esper::test::FailingAllocator::instance();
  const auto training_thread = std::this_thread::get_id();
  SmallRun starved(digits_config(7), [&](const Observation& seen) {
    if (seen.current_epoch == 4)
      memory.fail_at(1, training_thread);  // nothing is commanded: the copy is what allocates next
    return grows(seen);
  });
  starved.sink.on_packet = [&](const leyline::TelemetryPacket& packet) {
    if (packet.packet_id != epoch_packet(4)) return;
    CHECK(memory.fired());
    spoil(starved, "seed-0001", kNaN);
  };
  CHECK(starved.go().kind == Kind::kRestart);
  CHECK(starved.values("tolaria.rollback.fast_size_bytes").back() == 0);
  CHECK(starved.values("tolaria.rollback.fast_misses_total").back() == 1);
  CHECK(starved.events("tolaria.rollback.restore_failed").empty());
}

TEST_CASE(
    "a run that an error ends saves the last state that was good, and one that is resumed ends as if nothing was") {
  auto config = digits_config(5);
  config.checkpoint.every = {100, base::Length::Unit::kEpochs};
  config.checkpoint.keep_best = false;
  SmallRun whole(config, grows);
  REQUIRE(whole.go().kind == Kind::kDone);
  SmallRun it(config, grows);
  it.sink.on_packet = [&](const leyline::TelemetryPacket& packet) {
    if (packet.packet_id == epoch_packet(4)) throw std::runtime_error("a fault of the program");
  };
  CHECK_THROWS(it.go());
  CHECK(save_after(it.saver, std::runtime_error("the same")));
  const auto saved = newest_checkpoint(it);
  CHECK(saved.info.epoch == 4);
  SmallRun resumed(config, grows, saved);
  REQUIRE(resumed.go().kind == Kind::kDone);
  CHECK(differing(whole.bits(), resumed.bits()) == std::vector<std::string>{});
}

TEST_CASE("a run that an error ends saves the good state in memory also where the device takes no more copies") {
  auto config = digits_config(3);
  config.checkpoint.every = {100, base::Length::Unit::kEpochs};
  config.checkpoint.keep_best = false;
  SmallRun whole(config), it(config);
  REQUIRE(whole.go().kind == Kind::kDone);
  const auto steps = it.facts.steps_per_epoch();
  {
    const ArmedFault lost("tolaria.rollback_fails", 1, base::fault::kEveryHit);
    const ArmedFault bad("tolaria.nan_input", static_cast<std::uint64_t>(steps) + 4);
    CHECK_THROWS_AS(it.go(), c10::Error);
  }
  CHECK(it.progress.step == steps);
  CHECK(it.saver.is_saved());
  const auto saved = newest_checkpoint(it);
  CHECK(saved.info.step == steps);
  CHECK(saved.info.epoch == 1);
  SmallRun resumed(config, quiet(), saved);
  REQUIRE(resumed.go().kind == Kind::kDone);
  CHECK(differing(whole.bits(), resumed.bits()).empty());
}

TEST_CASE("damage to the host itself is undone, while a seed grows with the epoch, and without one with the step") {
  SmallRun it(digits_config(9), grows);
  it.sink.on_packet = [&](const leyline::TelemetryPacket& packet) {
    if (packet.packet_id == epoch_packet(4) || packet.packet_id == epoch_packet(6)) spoil(it, "host", kNaN);
  };
  CHECK(it.go().kind == Kind::kDone);
  CHECK(it.events("tolaria.rollback.restored").size() == 2);
  CHECK(it.events("tolaria.step_skipped").size() == 1);
  check_finite(it, 9);
}

TEST_CASE("a signal while an undone epoch is measured again leaves the run as it was before that epoch") {
  const auto config = exploding_config(GENERATE(config::Evidence::kAblation, config::Evidence::kControl));
  SmallRun* running = nullptr;
  const auto script = [&](const Observation& seen) -> Decision {
    if (seen.current_epoch == 4) spoil(*running, "seed-0001", -1e4);  // heard from epoch 5 on
    return grows(seen);
  };
  const auto go = [&](SmallRun& it) {
    running = &it;
    return it.go().kind;
  };
  SmallRun whole(config, script);
  REQUIRE(go(whole) == Kind::kDone);
  REQUIRE(whole.events("tolaria.rollback.restored").size() == 1);

  SmallRun it(config, script);
  {
    const ArmedFault signal("tolaria.validating.term", 6);
    REQUIRE(go(it) == Kind::kInterrupted);
  }
  CHECK(it.progress.epoch == 4);
  CHECK(it.events("seed_removed").empty());
  const auto saved = newest_checkpoint(it);
  CHECK(saved.info.epoch == 4);

  SmallRun resumed(config, script, saved);
  REQUIRE(go(resumed) == Kind::kDone);
  CHECK(resumed.events("tolaria.rollback.restored").size() == 1);
  CHECK(differing(whole.bits(), resumed.bits()) == std::vector<std::string>{});
}

TEST_CASE(
    "data that cannot be read while an undone epoch is measured again leave the run as it was before that epoch") {
  const auto config = exploding_config(config::Evidence::kAblation);
  SmallRun* running = nullptr;
  const auto script = [&](const Observation& seen) -> Decision {
    if (seen.current_epoch == 4) spoil(*running, "seed-0001", -1e4);  // heard from epoch 5 on
    return grows(seen);
  };
  const auto go = [&](SmallRun& it) {
    running = &it;
    return it.go().kind;
  };
  constexpr std::uint64_t kNever = 1'000'000;
  const ArmedFault data("data.batch", kNever);
  std::uint64_t in_epoch_5 = 0;  // batches asked for; the last of them when the epoch was measured again
  SmallRun whole(config, script);
  whole.sink.on_packet = [&](const leyline::TelemetryPacket& packet) {
    if (packet.packet_id == epoch_packet(4)) base::fault::arm("data.batch", kNever);
    if (packet.packet_id == epoch_packet(5)) in_epoch_5 = base::fault::hits("data.batch");
  };
  REQUIRE(go(whole) == Kind::kDone);
  REQUIRE(whole.events("tolaria.rollback.restored").size() == 1);
  REQUIRE(in_epoch_5 > 0);

  SmallRun it(config, script);
  it.sink.on_packet = [&](const leyline::TelemetryPacket& packet) {
    if (packet.packet_id == epoch_packet(4)) base::fault::arm("data.batch", in_epoch_5);
  };
  CHECK_THROWS_AS(go(it), base::Error);
  CHECK(it.progress.epoch == 4);
  CHECK(it.progress.batch == 0);
  CHECK(save_after(it.saver, base::Error(base::ExitCode::kData, "the same")));
  const auto saved = newest_checkpoint(it);
  CHECK(saved.info.epoch == 4);

  base::fault::disarm_all();
  SmallRun resumed(config, script, saved);
  REQUIRE(go(resumed) == Kind::kDone);
  CHECK(resumed.events("tolaria.rollback.restored").size() == 1);
  CHECK(differing(whole.bits(), resumed.bits()) == std::vector<std::string>{});
}

TEST_CASE("a control that is interrupted after an undone epoch leaves the run as it was before that epoch") {
  const auto config = exploding_config(config::Evidence::kControl);
  SmallRun* running = nullptr;
  bool interrupts = false;
  const auto script = [&](const Observation& seen) -> Decision {
    if (seen.current_epoch == 4) spoil(*running, "seed-0001", -1e4);  // heard from epoch 5 on
    if (seen.current_epoch != 5) return grows(seen);
    if (interrupts) raise(SIGTERM);
    return {{germination_at(seen, "r0c1", "mlp")}, "as the test says"};
  };
  const auto go = [&](SmallRun& it) {
    running = &it;
    return it.go().kind;
  };
  SmallRun whole(config, script);
  REQUIRE(go(whole) == Kind::kDone);
  REQUIRE(whole.events("tolaria.rollback.restored").size() == 1);
  REQUIRE(whole.events("tolaria.control_measured").size() == 2);

  interrupts = true;
  SmallRun it(config, script);
  REQUIRE(go(it) == Kind::kInterrupted);
  CHECK(it.progress.epoch == 4);
  CHECK(it.events("tolaria.rollback.restored").empty());  // it happens again
  const auto saved = newest_checkpoint(it);
  CHECK(saved.info.epoch == 4);

  interrupts = false;
  SmallRun resumed(config, script, saved);
  REQUIRE(go(resumed) == Kind::kDone);
  CHECK(resumed.events("tolaria.rollback.restored").size() == 1);
  CHECK(differing(whole.bits(), resumed.bits()) == std::vector<std::string>{});
  CHECK(resumed.values("tolaria.validation.loss").back() == whole.values("tolaria.validation.loss").back());
}

TEST_CASE("memory that runs out while a seed is grafted costs the graft, not the run") {
  SmallRun plain(digits_config(3));
  REQUIRE(plain.go().kind == Kind::kDone);
  auto& memory = esper::test::FailingAllocator::instance();
  const auto training_thread = std::this_thread::get_id();
  for (const int n : {1, 7, 40}) {
    CAPTURE(n);
    SmallRun it(digits_config(3), [&](const Observation& seen) -> Decision {
      if (seen.current_epoch != 1) return {{}, "waits"};
      memory.fail_at(n, training_thread);
      return {{germination_at(seen, "r0c0", "mlp")}, "as the test says"};
    });
    REQUIRE(it.go().kind == Kind::kDone);
    CHECK(memory.fired());
    check_finite(it, 3);
    const auto rejected = it.events("command_rejected");
    REQUIRE(rejected.size() == 1);
    CHECK(rejected[0].attributes.at("code") == "out_of_memory");
    CHECK(rejected[0].attributes.at("reason").starts_with("out of memory"));
    CHECK(it.events("seed_grafted").empty());
    CHECK(differing(it.bits(), plain.bits()).empty());
  }
}

TEST_CASE("an alpha outside 0..1 is refused where it can come in: the configuration and a saved topology") {
  SmallRun it(digits_config(2), grows);
  REQUIRE(it.go().kind == Kind::kDone);
  const auto before = it.run.model.network.save_topology();
  for (const double alpha : {-0.1, 1.5, kNaN}) {
    CAPTURE(alpha);
    const auto loaded = config::read_run_config(ESPER_SOURCE_DIR "/configs/run/digits.yaml",
                                                {"growth.alpha_target=" + std::to_string(alpha)});
    REQUIRE(loaded.problems.size() == 1);
    CHECK(loaded.problems[0].path == "growth.alpha_target");
    auto topology = before;
    topology["slots"][0]["seed"]["alpha"]["value"] = alpha;
    CHECK_THROWS_AS(it.run.model.network.restore_topology(topology), base::Error);
    CHECK(it.run.model.network.save_topology() == before);
  }
}

}  // namespace esper::test::good_state_test
