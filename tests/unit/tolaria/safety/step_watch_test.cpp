// A failure that is noticed late, as on a GPU, ends as one that is noticed at once: the same step is passed over, and
// every other has the same bits.
#include "tolaria/safety/step_watch.h"

#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <limits>

#include "base/error.h"
#include "support/faults/armed_fault.h"
#include "support/run_fixture.h"
#include "tolaria/safety/step_bundles.h"

namespace esper::test::step_watch_test {
namespace {

using config::StepWatching;
using tolaria::FailureKind;
using tolaria::Reaction;
using tolaria::ReactionRecord;
using tolaria::StepWatch;
using Kind = tolaria::RunOutcome::Kind;
using When = StepWatch::When;

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

// 6 steps an epoch.
config::RunConfig watched(StepWatching watching, int epochs = 3) {
  config::RunConfig config = small_config();
  config.epochs = epochs;
  config.growth.enabled = false;
  config.safety.step_watch = watching;
  return config;
}

// A run in whose data one sample is not finite: one step of each epoch has it.
struct SpoiltRun {
  explicit SpoiltRun(const config::RunConfig& config) : it(config) { spoil(); }
  SpoiltRun(const config::RunConfig& config, const tolaria::CheckpointImage& from) : it(config, quiet(), from) {
    spoil();
  }
  void spoil() {
    it.data.train.inputs[7].fill_(kNaN);
    it.run.records.bundles = &bundles;
  }
  SmallRun it;
  tolaria::StepBundles bundles{it.files, "/run", {it.facts, *it.model, it.progress, it.policy}, it.outbox};
};

std::vector<std::string> attributes(const SmallRun& it, const std::string& event, const std::string& name) {
  std::vector<std::string> values;
  for (const auto& each : it.events(event)) values.push_back(each.attributes.at(name));
  return values;
}

bool is_finite(const tolaria::CheckpointImage& image) {
  return std::ranges::all_of(image.tensors, [](const kasmina::NamedTensor& named) {
    return !named.tensor.is_floating_point() || at::isfinite(named.tensor).all().item<bool>();
  });
}

}  // namespace

TEST_CASE("data that are not finite cost the same steps, noticed late or at once, and all else has the same bits") {
  SpoiltRun each(watched(StepWatching::kEach)), late(watched(StepWatching::kLate));
  REQUIRE(each.it.go().kind == Kind::kDone);
  REQUIRE(late.it.go().kind == Kind::kDone);
  CHECK(differing(each.it.bits(), late.it.bits()).empty());
  const auto skipped = attributes(late.it, "tolaria.step_skipped", "step");
  CHECK(skipped.size() == 3);
  CHECK(skipped == attributes(each.it, "tolaria.step_skipped", "step"));
  for (const auto& reason : attributes(late.it, "tolaria.step_skipped", "reason")) {
    CHECK(reason == "batch.0.inputs is not finite");
  }
  // Once to look for the step, and once to pass it over; at once only the latter.
  CHECK(each.it.events("tolaria.rollback.restored").size() == 3);
  CHECK(late.it.events("tolaria.rollback.restored").size() == 6);
  CHECK(late.it.events("tolaria.bundle_cut").size() == 3);
  CHECK(late.it.events("tolaria.learning_rate_lowered").empty());
  CHECK(late.it.events("tolaria.bad_step_not_found").empty());
  CHECK(late.it.values("tolaria.training.loss") == each.it.values("tolaria.training.loss"));
}

TEST_CASE("a failure that was noticed late and is not there on the second way costs no step") {
  SmallRun whole(watched(StepWatching::kLate)), late(watched(StepWatching::kLate));
  REQUIRE(whole.go().kind == Kind::kDone);
  const ArmedFault bad("tolaria.nan_input", 9);
  REQUIRE(late.go().kind == Kind::kDone);
  CHECK(differing(whole.bits(), late.bits()).empty());
  CHECK(late.events("tolaria.step_skipped").empty());
  CHECK(attributes(late, "tolaria.rollback.restored", "reason") ==
        std::vector<std::string>{"the loss or the gradient of a step is not finite"});
  CHECK(attributes(late, "tolaria.rollback.restored", "step") == std::vector<std::string>{"12"});  // the epoch's end
  CHECK(attributes(late, "tolaria.bad_step_not_found", "step") == std::vector<std::string>{"12"});
}

TEST_CASE("a state that is not finite is in no checkpoint, though it was not noticed yet; each leads to the same end") {
  auto config = watched(StepWatching::kLate);
  config.checkpoint.every = {1, base::Length::Unit::kSteps};
  config.checkpoint.keep_last = 1000;
  SpoiltRun late(config);
  REQUIRE(late.it.go().kind == Kind::kDone);
  // The save that was due after the bad step was not made: that look noticed it.
  const auto skipped = attributes(late.it, "tolaria.step_skipped", "step"),
             noticed = attributes(late.it, "tolaria.rollback.restored", "step");
  REQUIRE(noticed.size() == 2 * skipped.size());
  for (std::size_t i = 0; i < skipped.size(); ++i) {
    CHECK(std::stoi(noticed[2 * i]) == std::stoi(skipped[i]) + 1);
  }
  const auto saved = late.it.saver.checkpoints();
  CHECK(saved.size() > 12);
  for (const auto& entry : saved) {
    CAPTURE(entry.path);
    const auto image = tolaria::read_checkpoint(late.it.files, entry.path);
    CHECK(is_finite(*image));
    SpoiltRun resumed(config, *image);
    CHECK(resumed.it.go().kind == Kind::kDone);
    CHECK(differing(resumed.it.bits(), late.it.bits()).empty());
  }
}

TEST_CASE("a signal that comes before a failure was noticed leaves a run that can be resumed") {
  const auto image = [] {
    const ArmedFault bad("tolaria.nan_input", 9), signal("tolaria.training.term", 11);
    SmallRun late(watched(StepWatching::kLate));
    CHECK(late.go().kind == Kind::kInterrupted);
    return newest_checkpoint(late);
  }();
  CHECK(is_finite(image));
  SmallRun whole(watched(StepWatching::kLate)), resumed(watched(StepWatching::kLate), quiet(), image);
  REQUIRE(whole.go().kind == Kind::kDone);
  REQUIRE(resumed.go().kind == Kind::kDone);
  CHECK(differing(whole.bits(), resumed.bits()).empty());
}

TEST_CASE("where no state is in memory, the run goes back to a checkpoint to look for the step, and finds it then") {
  auto config = watched(StepWatching::kLate);
  config.safety.snapshot_limit_mb = 1;
  config.host.hidden = {1024, 256};  // over a megabyte
  SpoiltRun late(config);
  const auto outcome = late.it.go();
  REQUIRE(outcome.kind == Kind::kRestart);
  REQUIRE(outcome.restart->reactions.size() == 1);
  CHECK((outcome.restart->reactions.front() == ReactionRecord{1, Reaction::kSearch, 0, 6, 1}));
  CHECK(outcome.restart->step == 6);
  CHECK(outcome.restart->newest_step == 0);

  SpoiltRun again(config);  // built again
  again.it.progress.safety.apply(outcome.restart->reactions.front());
  const auto found = again.it.go();
  REQUIRE(found.kind == Kind::kRestart);
  REQUIRE(found.restart->reactions.size() == 1);
  CHECK((found.restart->reactions.front().reaction == Reaction::kSkipStep));
  CHECK(found.restart->reactions.front().step < 6);
  CHECK(attributes(again.it, "tolaria.step_skipped", "reason") ==
        std::vector<std::string>{"batch.0.inputs is not finite"});
}

TEST_CASE("without a state in memory the checkpoints of the epoch stay, and a run without any begins again") {
  auto config = watched(StepWatching::kLate);
  config.safety.snapshot_limit_mb = 1;
  config.host.hidden = {1024, 256};
  config.checkpoint.keep_best = false;
  const auto saves_every = [&](std::int64_t count, base::Length::Unit unit) {
    config.checkpoint.every = {count, unit};
    const ArmedFault bad("tolaria.nan_input", 11);  // the fifth of the second epoch
    SmallRun late(config);
    const auto outcome = late.go();
    REQUIRE(outcome.kind == Kind::kRestart);
    CHECK(outcome.restart->reactions.size() == 1);
    CHECK(outcome.restart->step == 12);
    return outcome.restart->newest_step;
  };
  CHECK(saves_every(3, base::Length::Unit::kSteps) == 9);
  CHECK(saves_every(100, base::Length::Unit::kEpochs) == 6);
}

TEST_CASE("a run does not look forever for steps that are gone whenever it looks: its rate is lowered") {
  auto config = watched(StepWatching::kLate);
  config.checkpoint.every = {1, base::Length::Unit::kSteps};  // a look after each
  SmallRun late(config);
  // The third step, and after each return the second one: the first is trained again, and good.
  const ArmedFault bad("tolaria.nan_input", 3);
  late.sink.on_packet = [](const leyline::TelemetryPacket& packet) {
    const auto has = [&](std::string_view name) {
      return std::ranges::any_of(packet.events, [&](const auto& event) { return event.description == name; });
    };
    if (has("tolaria.rollback.restored")) base::fault::arm("tolaria.nan_input", 2);
    if (has("tolaria.learning_rate_lowered")) base::fault::disarm_all();
  };
  CHECK(late.go().kind == Kind::kDone);
  CHECK(attributes(late, "tolaria.bad_step_not_found", "step") == std::vector<std::string>{"3", "4", "5"});
  CHECK(attributes(late, "tolaria.bad_step_not_found", "searches") == std::vector<std::string>{"1", "2", "3"});
  CHECK(attributes(late, "tolaria.learning_rate_lowered", "step") == std::vector<std::string>{"5"});
  CHECK(late.events("tolaria.step_skipped").empty());
}

TEST_CASE("a killed run takes up its search: it looks at each step until where the failure was noticed") {
  const auto config = watched(StepWatching::kLate);
  SpoiltRun late(config), resumed(config);
  REQUIRE(late.it.go().kind == Kind::kDone);
  resumed.it.progress.safety.apply({1, Reaction::kSearch, 0, 6});  // as the journal has it
  REQUIRE(resumed.it.go().kind == Kind::kDone);
  CHECK(differing(resumed.it.bits(), late.it.bits()).empty());
  CHECK(late.it.events("tolaria.rollback.restored").size() == 6);
  CHECK(resumed.it.events("tolaria.rollback.restored").size() == 5);
}

TEST_CASE("a run goes back no further than to its last save") {
  auto config = watched(StepWatching::kEach);
  const auto steps_with = [&](base::Length every) {
    config.checkpoint.every = every;
    SmallRun it(config);
    const ArmedFault bad("tolaria.nan_input", 12);  // the last of the second epoch
    REQUIRE(it.go().kind == Kind::kDone);
    CHECK(it.events("tolaria.step_skipped").size() == 1);
    return base::fault::hits("tolaria.nan_input");  // steps trained
  };
  CHECK(steps_with({2, base::Length::Unit::kSteps}) == 19);
  CHECK(steps_with({1, base::Length::Unit::kEpochs}) == 23);
}

TEST_CASE("the copy of the state that each save takes is counted, and timed") {
  auto config = watched(StepWatching::kEach);
  const auto copies_with = [&](base::Length every) {
    config.checkpoint.every = every;
    SmallRun it(config);
    REQUIRE(it.go().kind == Kind::kDone);
    for (const double ms : it.values("tolaria.rollback.snapshot_ms")) CHECK(ms > 0);
    CHECK(it.values("tolaria.rollback.snapshot_ms").size() == 3);
    return it.values("tolaria.rollback.snapshots_total").back();
  };
  CHECK(copies_with({2, base::Length::Unit::kSteps}) == copies_with({1, base::Length::Unit::kEpochs}) + 9);
}

TEST_CASE("a search goes on over epochs that end well, where the run has to go back further than one") {
  auto config = watched(StepWatching::kLate, 4);
  config.safety.snapshot_limit_mb = 1;
  config.host.hidden = {1024, 256};  // over a megabyte
  config.checkpoint.keep_best = false;
  config.checkpoint.every = {100, base::Length::Unit::kEpochs};
  SmallRun late(config);
  late.progress.safety.apply({1, Reaction::kSearch, 0, 12});  // noticed at the end of the second epoch
  const ArmedFault bad("tolaria.nan_input", 11);
  const auto outcome = late.go();
  REQUIRE(outcome.kind == Kind::kRestart);
  CHECK((outcome.restart->reactions.front() == ReactionRecord{2, Reaction::kSkipStep, 10, 0}));
}

TEST_CASE("while a seed grows a late look has the epoch undone; a signal after the bad step leaves a run to resume") {
  const auto config = [] {
    auto growing = watched(StepWatching::kLate);
    growing.growth.enabled = true;
    growing.checkpoint.every = {1, base::Length::Unit::kSteps};
    return growing;
  }();
  const ArmedFault bad("tolaria.nan_input", 9);  // the third of the second epoch
  {
    SmallRun late(config, germinates_at_once);
    CHECK(late.go().kind == Kind::kDone);
    CHECK(late.events("tolaria.checkpoint_failed").empty());
    CHECK(late.events("tolaria.rollback.restored").size() == 1);
  }
  base::fault::arm("tolaria.nan_input", 9);
  base::fault::arm("tolaria.training.term", 11);
  SmallRun late(config, germinates_at_once);
  CHECK(late.go().kind == Kind::kInterrupted);
  CHECK(late.events("tolaria.checkpoint_failed").empty());
  CHECK(is_finite(newest_checkpoint(late)));
}

TEST_CASE("a signal after a bad step, where no state is in memory, leaves the newest checkpoint, and names it") {
  auto config = watched(StepWatching::kEach);
  config.growth.enabled = true;
  config.safety.snapshot_limit_mb = 1;
  config.host.hidden = {256, 1024};  // over a megabyte
  config.checkpoint.keep_best = false;
  const auto interrupt = [&](SmallRun& it) {
    const ArmedFault bad("tolaria.nan_input", 9), signal("tolaria.training.term", 11);  // in the second epoch
    const auto outcome = it.go();
    CHECK(outcome.kind == Kind::kInterrupted);
    CHECK(exit_code_of(outcome) == base::ExitCode::kTerminated);
    CHECK(it.events("tolaria.interrupted").size() == 1);
    CHECK(it.events("tolaria.checkpoint_failed").empty());
    return outcome.reason;
  };
  {
    SmallRun it(config, germinates_at_once);
    const std::string reason = interrupt(it);
    CHECK(reason.find("batch.0.inputs is not finite") != std::string::npos);
    CHECK(reason.ends_with("continues from checkpoint epoch-0001-step-000000006"));
    SmallRun whole(config, germinates_at_once), resumed(config, germinates_at_once, newest_checkpoint(it));
    REQUIRE(whole.go().kind == Kind::kDone);
    REQUIRE(resumed.go().kind == Kind::kDone);
    CHECK(differing(whole.bits(), resumed.bits()).empty());
  }
  config.checkpoint.every = {100, base::Length::Unit::kEpochs};
  SmallRun it(config, germinates_at_once);
  CHECK(interrupt(it).ends_with("continues from the beginning"));
  CHECK(it.saver.checkpoints().empty());
}

TEST_CASE("a batch that cannot be read after a bad step that was not noticed yet leaves the last good state, saved") {
  auto config = watched(StepWatching::kLate);
  config.checkpoint.every = {100, base::Length::Unit::kEpochs};
  config.checkpoint.keep_best = false;
  SmallRun it(config);
  const ArmedFault bad("tolaria.nan_input", 9);
  it.sink.on_packet = [](const leyline::TelemetryPacket& packet) {
    if (packet.packet_id == "small-run-epoch-1") base::fault::arm("data.batch", 5);  // of the second epoch's
  };
  CHECK_THROWS_AS(it.go(), base::Error);
  CHECK(save_after(it.saver, base::Error(base::ExitCode::kData, "the same")));
  const auto saved = newest_checkpoint(it);
  CHECK(saved.info.step == 6);
  CHECK(is_finite(saved));
  base::fault::disarm_all();
  SmallRun whole(config), resumed(config, quiet(), saved);
  REQUIRE(whole.go().kind == Kind::kDone);
  REQUIRE(resumed.go().kind == Kind::kDone);
  CHECK(differing(whole.bits(), resumed.bits()).empty());
}

TEST_CASE("where no reaction is allowed a run whose failure is noticed late ends as diverged, without a search") {
  auto config = watched(StepWatching::kLate);
  config.safety.most_skipped_steps = config.safety.most_rate_cuts = 0;
  SpoiltRun late(config);
  CHECK(late.it.go().kind == Kind::kDiverged);
  CHECK(late.it.events("tolaria.rollback.restored").empty());
}

TEST_CASE("a late look is made when it is due or asked for, and finds what came since; then each step is looked at") {
  SmallRun it(watched(StepWatching::kLate));
  const auto time = std::make_shared<base::ManualTime>();
  it.facts.clock = base::Clock(time);
  StepWatch watch(it.facts, *it.model, it.progress, it.outbox);
  torch::Tensor& loss = it.model->state.metrics.sums;
  watch.begin_epoch(3);
  CHECK_FALSE(watch.look_back(4, When::kNow));
  loss.fill_(kNaN);
  CHECK_FALSE(watch.look_at(4, {}));
  time->advance(std::chrono::milliseconds(1999));
  CHECK_FALSE(watch.look_back(5, When::kIfDue));
  time->advance(std::chrono::milliseconds(1));
  const auto failure = watch.look_back(5, When::kIfDue);
  REQUIRE(failure);
  CHECK((failure->kind == FailureKind::kNonfiniteRange));
  CHECK(failure->step == 4);
  CHECK(failure->end_step == 5);

  loss.zero_();
  it.progress.safety.apply({1, Reaction::kSearch, failure->step, 5});
  watch.begin_epoch(0);
  CHECK_FALSE(watch.look_at(2, {}));
  loss.fill_(kNaN);
  const auto found = watch.look_at(3, {});
  REQUIRE(found);
  CHECK((found->kind == FailureKind::kNonfiniteStep));
  CHECK(found->step == 3);
  CHECK_FALSE(watch.look_back(5, When::kNow));  // all before it were looked at
  CHECK(watch.look_back(6, When::kNow));

  it.progress.safety.apply({2, Reaction::kCompareStep, 8});
  watch.begin_epoch(6);
  loss.fill_(kNaN);
  CHECK_FALSE(watch.look_at(7, {}));
  CHECK(watch.look_at(8, {}));
}

TEST_CASE("on the CPU each step is looked at, unless the run file says otherwise") {
  for (const auto watching : {StepWatching::kAuto, StepWatching::kEach, StepWatching::kLate}) {
    SmallRun it(watched(watching));
    StepWatch watch(it.facts, *it.model, it.progress, it.outbox);
    watch.begin_epoch(0);
    it.model->state.metrics.sums.fill_(kNaN);
    CHECK(watch.look_at(0, {}).has_value() == (watching != StepWatching::kLate));
    CHECK(watch.look_back(1, When::kNow).has_value() == (watching == StepWatching::kLate));
  }
}

}  // namespace esper::test::step_watch_test
