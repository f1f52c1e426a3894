#include "tolaria/growth/control.h"

#include <torch/types.h>

#include <catch2/catch_approx.hpp>
#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <csignal>

#include "kasmina/network/network_seeds.h"
#include "support/faults/armed_fault.h"
#include "support/faults/failing_allocator.h"
#include "support/models/step_fixture.h"
#include "support/run_fixture.h"

namespace esper::test::control_test {

using tolaria::CheckpointImage;
using tolaria::control_length;
using tolaria::list_checkpoints;
using tolaria::PerSample;
using tolaria::read_checkpoint;
using tolaria::RunOutcome;
using tolaria::SampleFigures;
using tolaria::SeedControl;
using tolaria::TrainedControl;

namespace {

using Catch::Approx;
using leyline::Decision;
using leyline::Observation;
using leyline::SeedOperation;
using Kind = RunOutcome::Kind;

constexpr char kSeed[] = "seed-0001";

// With all that a step depends on besides its batch: random numbers, moments, averages, the schedule.
config::RunConfig control_config(config::Evidence evidence = config::Evidence::kControl) {
  auto config = small_config();
  config.epochs = 7;
  config.host.dropout = 0.2;
  config.training.ema_decay = 0.9;
  config.training.optimizer.kind = config::OptimizerKind::kAdamw;
  config.training.optimizer.lr = 0.01;
  config.training.schedule.kind = config::ScheduleKind::kCosine;
  config.step.accumulation = 4;
  config.growth.gates.evidence = evidence;
  config.growth.control.budget = 1;
  config.growth.training = config::SeedTraining::kStraightThrough;
  config.growth.isolate = false;  // so that the seed moves the host before its alpha rises
  config.checkpoint.keep_last = 100;
  config.checkpoint.every = {1, base::Length::Unit::kEpochs};
  return config;
}

Decision germinate_after_two(const Observation& seen) {
  if (seen.current_epoch == 2) return {{germination(seen)}, ""};
  if (seen.current_epoch == 3) return {{seed_command(seen, SeedOperation::kStartTraining, kSeed)}, ""};
  return {};
}

// At the last slot.
leyline::AdaptationCommand germination_at_the_end(const Observation& seen) {
  return leyline::germination(command_id(seen), seen.slots.back().slot, seen.slots.back().blueprints.front());
}

CheckpointImage checkpoint_of_epoch(SmallRun& it, std::uint32_t epoch) {
  for (const auto& entry : list_checkpoints(it.files, kCheckpoints)) {
    if (entry.epoch == epoch) return *read_checkpoint(it.files, entry.path);
  }
  FAIL("no checkpoint of epoch " << epoch);
  return {};
}

// Calls `look` with each epoch's number once the epoch is over.
void at_epochs(SmallRun& it, std::function<void(std::uint32_t)> look) {
  it.sink.on_packet = [&it, look = std::move(look)](const leyline::TelemetryPacket& packet) {
    if (packet.packet_id == "small-run-epoch-" + std::to_string(it.progress.epoch)) look(it.progress.epoch);
  };
}

leyline::SeedWorth worth_in(const SmallRun& it) {
  const auto seeds = kasmina::export_seed_states(it.model->network.state());
  REQUIRE(seeds.size() == 1);
  return seeds.front().figures.worth;
}

}  // namespace

TEST_CASE("a control is the run without the seed, to the bit, also where memory was short") {
  const double parts = GENERATE(1, 3);
  SeedControl control;
  std::map<std::uint32_t, leyline::SeedWorth> worths;
  std::map<std::uint32_t, SampleFigures> running;
  SmallRun grown(control_config(), germinate_after_two);
  grown.progress.safety.parts = parts;
  at_epochs(grown, [&](std::uint32_t epoch) {
    if (epoch == 2) control = grown.progress.control.seeds.at(kSeed);
    if (epoch <= 2) return;
    worths[epoch] = worth_in(grown);
    running[epoch] = measure_epoch(grown.evaluation, epoch + 1, grown.outbox, PerSample::kKept).running.by_sample;
  });
  REQUIRE(grown.go().kind == Kind::kDone);

  std::map<std::uint32_t, SampleFigures> without;
  SmallRun plain(control_config(), quiet());
  plain.progress.safety.parts = parts;
  at_epochs(plain, [&](std::uint32_t epoch) {
    without[epoch] = measure_epoch(plain.evaluation, epoch + 1, plain.outbox, PerSample::kKept).running.by_sample;
  });
  REQUIRE(plain.go().kind == Kind::kDone);

  REQUIRE(control.epochs() == 3);
  CHECK(control.compared == 0);
  for (std::uint32_t i = 0; i < 3; ++i) {
    CAPTURE(i);
    CHECK(same_bits(control.loss[i].contiguous(), without.at(3 + i).loss));
    CHECK(same_bits(control.correct[i].contiguous(), without.at(3 + i).correct));
  }
  // The worth of one epoch is the difference of the two runs' means; of three the last counts.
  const auto difference = [&](std::uint32_t epoch) {
    return (without.at(epoch).loss.to(torch::kFloat64) - running.at(epoch).loss.to(torch::kFloat64)).mean();
  };
  const auto first = worths.at(3), third = worths.at(5);
  CHECK(*first.loss == Approx(difference(3).item<double>()).margin(1e-6));
  CHECK(*third.loss == Approx(difference(5).item<double>()).margin(1e-6));
  CHECK(first.epochs == 1);
  CHECK(first.is_pending());
  CHECK(third.is_complete());
  CHECK(worths.at(6) == third);  // nothing is left to compare
  CHECK(grown.progress.control.seeds.empty());
}

TEST_CASE("a control changes no bit of the run") {
  SmallRun with(control_config(), germinate_after_two);
  REQUIRE(with.go().kind == Kind::kDone);
  SmallRun without(control_config(config::Evidence::kAblation), germinate_after_two);
  REQUIRE(without.go().kind == Kind::kDone);
  CHECK(differing(with.bits(), without.bits()) == std::vector<std::string>{});
  CHECK(with.values("tolaria.validation.loss") == without.values("tolaria.validation.loss"));

  const auto events = with.events("tolaria.control_measured");
  REQUIRE(events.size() == 1);
  CHECK(events[0].attributes.at("seed_id") == kSeed);
  CHECK(events[0].attributes.at("epoch") == "2");
  CHECK(events[0].attributes.at("epochs") == "3");
  CHECK(events[0].attributes.at("steps") == "6");
  CHECK(with.progress.control.steps == 6);
  CHECK(with.values("tolaria.control.steps_total") == std::vector<double>{0, 6, 6, 6, 6, 6, 6});
  CHECK(with.values("kasmina.seed.worth_epochs") == std::vector<double>{1, 2, 3, 3, 3});
  with.ledger.settle();
  CHECK(with.ledger.settled().totals()[index_of(base::Owner::kControl)] > std::chrono::nanoseconds(0));

  CHECK(without.events("tolaria.control_measured").empty());
  CHECK(without.values("tolaria.control.steps_total").empty());
  CHECK(without.values("kasmina.seed.worth_epochs").empty());
  without.ledger.settle();
  CHECK(without.ledger.settled().totals()[index_of(base::Owner::kControl)] == std::chrono::nanoseconds(0));
}

TEST_CASE("a run resumed within the horizon measures the same worth") {
  SmallRun whole(control_config(), germinate_after_two);
  REQUIRE(whole.go().kind == Kind::kDone);
  for (const std::uint32_t epoch : {2U, 3U, 4U}) {
    CAPTURE(epoch);
    SmallRun again(control_config(), germinate_after_two, checkpoint_of_epoch(whole, epoch));
    REQUIRE(again.progress.control.seeds.size() == 1);
    REQUIRE(again.go().kind == Kind::kDone);
    CHECK(worth_in(again) == worth_in(whole));
    CHECK(again.progress.control.steps == 6);
    CHECK(differing(again.bits(), whole.bits()) == std::vector<std::string>{});
  }
}

TEST_CASE("a signal during a control leaves the run as it was when the epoch's training ended") {
  SmallRun whole(control_config(), germinate_after_two);
  REQUIRE(whole.go().kind == Kind::kDone);

  SmallRun it(control_config(), [](const Observation& seen) {
    if (seen.current_epoch == 2) raise(SIGTERM);
    return germinate_after_two(seen);
  });
  CHECK(it.go().kind == Kind::kInterrupted);
  CHECK(it.progress.epoch == 1);
  CHECK(it.progress.control.steps == 0);
  CHECK(it.events("seed_grafted").empty());
  CHECK(it.events("tamiyo.decision").size() == 1);
  for (const auto& record : it.journal()) CHECK(record.find(kSeed) == std::string::npos);

  const auto newest = newest_checkpoint(it);
  CHECK(newest.info.epoch == 1);
  CHECK(newest.info.step == 4);
  SmallRun resumed(control_config(), germinate_after_two, newest);
  CHECK(resumed.go().kind == Kind::kDone);
  CHECK(differing(whole.bits(), resumed.bits()) == std::vector<std::string>{});
  CHECK(worth_in(resumed) == worth_in(whole));
  CHECK(resumed.progress.train.loss == whole.progress.train.loss);
}

TEST_CASE("the budget shortens a control, and without any left there is none") {
  auto config = control_config();
  SmallRun it(config);
  auto facts = it.facts;
  auto& control = facts.config.growth.control;
  tolaria::RunProgress progress;
  progress.epoch = 2;
  REQUIRE(facts.steps_per_epoch() == 2);

  CHECK(control_length(facts, progress).value() == 3);
  control.epochs = 100;
  CHECK(control_length(facts, progress).value() == 5);  // of the run
  progress.control.steps = 7;
  CHECK(control_length(facts, progress).value() == 3);  // 7 of 14 steps are left
  control.budget = 0.6;
  const auto short_of = control_length(facts, progress);  // 1.4
  REQUIRE_FALSE(short_of);
  CHECK(short_of.error().code == "no_control_budget");
  CHECK(short_of.error().reason.find("growth.control.budget of 0.6 leaves 1.4 steps") == 0);
  control.budget = 1;
  progress.control.steps = 0;
  progress.epoch = 7;
  CHECK(control_length(facts, progress).error().code == "no_epochs_left");
}

TEST_CASE("a control ends where the host is unfrozen: from there on the run differs from it by more than the seed") {
  auto config = control_config();
  SmallRun it(config);
  auto facts = it.facts;
  facts.config.host.unfreeze_epoch = 3;
  tolaria::RunProgress progress;
  progress.epoch = 2;
  CHECK(control_length(facts, progress).value() == 3);
  facts.config.host.freeze = {"block0.*"};
  CHECK(control_length(facts, progress).value() == 1);
  progress.epoch = 3;
  CHECK(control_length(facts, progress).value() == 3);
}

TEST_CASE("where the budget holds no control nothing germinates, and the policy is told before it asks") {
  auto config = control_config();
  config.growth.control.budget = 0.3;  // 4.2 steps, and an epoch has two
  std::map<std::uint32_t, std::string> barred;
  SmallRun it(config, [&](const Observation& seen) {
    barred[seen.current_epoch] = seen.germination_barred;
    if (seen.current_epoch == 3) return Decision{{seed_command(seen, SeedOperation::kCull, kSeed)}, ""};
    if (seen.current_epoch == 2) return Decision{{germination(seen)}, ""};
    return seen.current_epoch == 4 ? Decision{{germination_at_the_end(seen)}, ""} : Decision{};
  });
  REQUIRE(it.go().kind == Kind::kDone);
  CHECK(it.events("seed_grafted").size() == 1);
  CHECK(it.progress.control.steps == 4);
  const std::string reason =
      "growth.control.budget of 0.3 leaves 0.2 steps for the seed's control, and an epoch has 2; raise it";
  CHECK(barred.at(2).empty());
  CHECK(barred.at(3).find("one at a time, and seed-0001 is growing") != std::string::npos);
  CHECK(barred.at(4).find(reason) == 0);
  const auto rejected = it.events("command_rejected");
  REQUIRE(rejected.size() == 1);
  CHECK(rejected[0].attributes.at("code") == "no_control_budget");
  CHECK(rejected[0].attributes.at("reason") == barred.at(4));
}

TEST_CASE("a rejected germination costs no control") {
  SmallRun it(control_config(), [](const Observation& seen) {
    auto command = germination(seen);
    command.seed_operation->slot = "r9c9";
    return Decision{{command}, ""};
  });
  REQUIRE(it.go().kind == Kind::kDone);
  CHECK(it.events("command_rejected").size() == 7);
  CHECK(it.progress.control.steps == 0);
}

TEST_CASE("with controls seeds grow one at a time, so that none is confounded") {
  SmallRun it(control_config(), [](const Observation& seen) {
    if (seen.current_epoch == 3) return Decision{{germination_at_the_end(seen)}, ""};
    return germinate_after_two(seen);
  });
  REQUIRE(it.go().kind == Kind::kDone);
  const auto rejected = it.events("command_rejected");
  REQUIRE(rejected.size() == 1);
  CHECK(rejected[0].attributes.at("code") == "one_at_a_time");
  CHECK(it.progress.control.steps == 6);
  CHECK(worth_in(it).is_complete());
  CHECK(it.events("tolaria.control_confounded").empty());
}

TEST_CASE("a learning rate that changes within the horizon ends the comparison, and an event says so") {
  SmallRun it(control_config(), germinate_after_two);
  at_epochs(it, [&](std::uint32_t epoch) {
    if (epoch == 3) it.facts.config.training.optimizer.lr *= 2;  // as a live change does
  });
  REQUIRE(it.go().kind == Kind::kDone);
  const auto confounded = it.events("tolaria.control_confounded");
  REQUIRE(confounded.size() == 1);
  CHECK(confounded[0].attributes.at("epoch") == "4");
  CHECK(worth_in(it).confounded);
  CHECK(worth_in(it).epochs == 1);
  CHECK(it.progress.control.seeds.empty());
}

TEST_CASE("a control that runs out of memory is rejected, what it trained counts, and the run is as it was") {
  SmallRun it(control_config());
  const auto before = it.bits();
  auto& memory = FailingAllocator::instance();
  std::int64_t steps = 0;
  TrainedControl control;
  for (std::int64_t n = 1;; n += 101) {
    memory.fail_at(n);
    control = tolaria::train_control(it.evaluation, it.progress);
    if (!memory.fired()) break;
    CAPTURE(n);
    REQUIRE(control.end == TrainedControl::End::kRejected);
    CHECK(control.rejection.code == "out_of_memory");
    CHECK(control.steps >= steps);
    steps = control.steps;
    REQUIRE(differing(it.bits(), before) == std::vector<std::string>{});
  }
  CHECK(control.end == TrainedControl::End::kTrained);
  CHECK(control.steps == 6);
  CHECK(steps > 0);
}

TEST_CASE("an error ends a control with the model as it was, but for a GPU that is lost, which takes no more copies") {
  constexpr std::uint64_t kSecondStep = 5;  // a step has four batches
  const auto changed_by_control = [](const char* fault) {
    SmallRun it(control_config());
    const auto before = it.bits();
    const ArmedFault failing(fault, kSecondStep);
    CHECK_THROWS(tolaria::train_control(it.evaluation, it.progress));
    return differing(it.bits(), before);
  };
  CHECK(changed_by_control("data.batch") == std::vector<std::string>{});
  CHECK(changed_by_control("device.late_error") != std::vector<std::string>{});
}

}  // namespace esper::test::control_test
