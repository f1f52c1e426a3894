// What becomes of a shape of step once it has followed the journal of a resumed run, or cannot.

#include "lanes/journal_follower.h"

#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <csignal>
#include <filesystem>
#include <vector>

#include "base/interrupt.h"
#include "base/names.h"
#include "unit/lanes/compiling_step.h"

namespace esper::test::journal_follower_test {

using namespace esper;
using namespace esper::tests;
using config::Lane;
using lanes::LaneStage;
using lanes::StateId;
using Outcome = lanes::JournalFollower::Outcome;
using Texts = std::vector<std::string>;

namespace {

constexpr std::int64_t kCheckEvery = 10;
constexpr bool kOnTrial = true;
const std::string kFirst(32, 'a'), kSecond(32, 'b');

// A shape that follows these records, and runs the first one's program.
class Following : LaneParts {
 public:
  Following(Lane lane, const std::vector<lanes::LaneRecord>& records) : journal_(log_of(records), nullptr) {
    config.lane = lane;
    config.check_every = kCheckEvery;
    shape_->enter(lanes::ShapeEvent::kFollow, lanes::Following{});
    shape_->incumbent = lanes::Lane(
        Lane::kCompiled, [this](auto) { step::train_step(model->state, model->settings, batch_, context.forward); },
        {nullptr, kFirst, 1});
  }

  Outcome step(std::int64_t number) { return follower_.step(*shape_, batch_, number); }
  const lanes::StepShape& shape() const { return *shape_; }
  // Of trials that begin again: program and step.
  Texts restarts() const {
    Texts begun;
    for (const auto& event : events) {
      if (event.description != "tolaria.trial_restarted") continue;
      begun.push_back(event.attributes.at("key") + " " + event.attributes.at("step"));
    }
    return begun;
  }
  std::ptrdiff_t refused() const {
    return std::ranges::count(events, "tolaria.lane_refused", &leyline::TelemetryEvent::description);
  }
  std::int64_t compiled_steps() const { return figures.steps_in(Lane::kCompiled); }
  bool follows(std::int64_t number) const { return journal_.follows(*shape_, number); }

 private:
  lanes::LaneLog log_of(const std::vector<lanes::LaneRecord>& records) const {
    lanes::LaneLog log;
    for (const auto& record : records) log.add(shape_->name, record);
    return log;
  }

  std::vector<step::Microbatch> batch_ = make_batches(c, 1);
  lanes::LaneFailures failures_{services, figures};
  lanes::LaneExecutor executor_{context, failures_};
  lanes::ShapeMachine machine_{context, executor_, lanes::ShapeMachine::Adoption::kWhenFaster};
  lanes::ShapeSet shapes_;
  lanes::StepShape* shape_ = &shapes_.add(model->network.structure_version(), batch_);
  lanes::CompileQueue queue_{services, figures};
  lanes::BitsJournal journal_;
  lanes::JournalPrograms programs_{context, shapes_, failures_, queue_};
  lanes::JournalFollower follower_{context, failures_, journal_, machine_, executor_, programs_};
};

// A shape whose journal names a program that its run had compiled.
struct NamedProgram : CompilingStep {
  explicit NamedProgram(Lane lane) {
    config.lane = lane;
    shape.enter(lanes::ShapeEvent::kFollow, lanes::Following{});
  }

  Outcome step() { return follower.step(shape, batch, 0); }
  // Why the steps cannot be repeated, each time.
  Texts refused_because() const {
    Texts reasons = reported("tolaria.lane_refused", "reason");
    for (std::string& reason : reasons) {
      const std::string begin = "this resumed run cannot repeat its steps bit for bit: ";
      REQUIRE(reason.starts_with(begin));
      reason.erase(0, begin.size());
    }
    return reasons;
  }
  lanes::LaneLog log() const {
    lanes::LaneLog made;
    made.add(shape.name, {0, key});
    return made;
  }

  const std::vector<step::Microbatch> batch = make_batches(c, 1);
  const std::string key = variant(service.recipes(recorded).front()).key;
  lanes::LaneFailures failures{services, figures};
  lanes::LaneExecutor executor{context, failures};
  lanes::ShapeMachine machine{context, executor, lanes::ShapeMachine::Adoption::kOnAgreement};
  lanes::ShapeSet shapes;
  lanes::StepShape& shape = shapes.add(model->network.structure_version(), batch);
  lanes::BitsJournal journal{log(), nullptr};
  lanes::JournalPrograms programs{context, shapes, failures, queue};
  lanes::JournalFollower follower{context, failures, journal, machine, executor, programs};
};

}  // namespace

TEST_CASE(
    "after the last record a compiled program goes on in auto, and not where a lane without a compiler is selected") {
  for (const auto& [lane, state] :
       {std::pair(Lane::kAuto, StateId::kSearching), std::pair(Lane::kCompiled, StateId::kSearching),
        std::pair(Lane::kReplay, StateId::kRecording), std::pair(Lane::kEager, StateId::kEagerOnly)}) {
    CAPTURE(static_cast<int>(lane));
    Following it(lane, {{0, kFirst}});
    CHECK(it.step(0) == Outcome::kRan);
    CHECK(it.shape().is(state));
    CHECK(it.shape().incumbent.has_value() == (state == StateId::kSearching));
  }
}

TEST_CASE("a compiled program that the last record has on trial runs for its turn, and is not adopted in any lane") {
  for (const auto& [lane, state] :
       {std::pair(Lane::kAuto, StateId::kRecording), std::pair(Lane::kCompiled, StateId::kRecording),
        std::pair(Lane::kReplay, StateId::kRecording), std::pair(Lane::kEager, StateId::kEagerOnly)}) {
    CAPTURE(static_cast<int>(lane));
    Following it(lane, {{0, kFirst, kOnTrial}});
    for (int i = 0; i < program::Trial::kStepsPerTurn; ++i) {
      CHECK(it.shape().is(StateId::kFollowing));
      CHECK(it.step(5 + i) == Outcome::kRan);
    }
    CHECK(it.compiled_steps() == program::Trial::kStepsPerTurn);
    CHECK(it.restarts() == (lane == Lane::kAuto ? Texts{kFirst + " 25"} : Texts{}));
    CHECK(it.shape().is(state));
    CHECK_FALSE(it.shape().incumbent);
  }
}

TEST_CASE("an adoption that the journal records is followed, and the next check counts from it as it did before") {
  Following it(Lane::kAuto, {{0, kFirst, kOnTrial}, {12, kFirst}});
  CHECK(it.step(0) == Outcome::kRan);
  CHECK(it.step(11) == Outcome::kRan);
  CHECK(it.shape().is(StateId::kFollowing));
  CHECK(it.shape().next_check == kCheckEvery);
  CHECK(it.step(12) == Outcome::kRan);
  CHECK(it.shape().is(StateId::kSearching));
  CHECK(it.shape().runs_compiled());
  CHECK(it.restarts().empty());
  CHECK(it.shape().next_check == 2 * kCheckEvery);
}

TEST_CASE("a comparison that is due after the step of the last record is left to the run, and that step is none") {
  Following it(Lane::kCompiled, {{12, kFirst}});
  CHECK(it.step(12) == Outcome::kRan);
  CHECK(it.shape().is(StateId::kSearching));
  Following later(Lane::kCompiled, {{12, kFirst}});
  const std::int64_t steps = later.compiled_steps();
  CHECK(later.step(2 * kCheckEvery) == Outcome::kGoesOn);
  CHECK(later.compiled_steps() == steps);
  CHECK(later.shape().is(StateId::kSearching));
  CHECK(later.shape().runs_compiled());
  Following on_trial(Lane::kCompiled, {{12, kFirst, kOnTrial}});
  CHECK(on_trial.step(13) == Outcome::kRan);
}

TEST_CASE("a comparison that decided nothing is repeated in the next step, after as many small differences as before") {
  const lanes::LaneRecord undecided{.step = 12, .key = "", .then = kFirst, .progress = {LaneStage::kComparing, 2}};
  for (const Lane lane : {Lane::kAuto, Lane::kCompiled}) {
    CAPTURE(static_cast<int>(lane));
    Following it(lane, {undecided});
    CHECK(it.step(12) == Outcome::kRan);
    CHECK(it.compiled_steps() == 0);
  }
  Following next(Lane::kCompiled, {undecided});
  CHECK(next.step(13) == Outcome::kGoesOn);
  CHECK(next.compiled_steps() == 0);
  REQUIRE(next.shape().is(StateId::kRechecking));
  CHECK(std::get<lanes::Rechecking>(next.shape().state).near_misses == 2);
  CHECK(next.shape().runs_compiled());
  Following other_lane(Lane::kReplay, {undecided});
  CHECK(other_lane.step(13) == Outcome::kGoesOn);
  CHECK(other_lane.shape().is(StateId::kRecording));
  Following forged(Lane::kCompiled,
                   {{.step = 12, .key = "", .then = kFirst, .progress = {LaneStage::kComparing, 1L << 40}}});
  CHECK(forged.step(13) == Outcome::kGoesOn);
  CHECK(std::get<lanes::Rechecking>(forged.shape().state).near_misses == lanes::kMostNearMisses - 1);
}

TEST_CASE("in lane compiled a shape in eager goes on where it was, and in other lanes it is recorded again") {
  struct Case {
    lanes::LaneProgress progress;
    StateId state;
  };
  for (const auto& [progress, state] :
       {Case{{LaneStage::kWarmingUp, 3}, StateId::kWarmUp}, Case{{LaneStage::kWarmingUp}, StateId::kRecording},
        Case{{LaneStage::kComparing, 1}, StateId::kSearching}, Case{{LaneStage::kRejected}, StateId::kEagerOnly}}) {
    CAPTURE(base::name_of(progress.stage));
    Following it(Lane::kCompiled, {{.step = 12, .progress = progress}});
    CHECK(it.step(12) == Outcome::kRan);
    CHECK(it.shape().is(StateId::kFollowing));
    CHECK(it.step(20) == Outcome::kGoesOn);
    CHECK(it.shape().is(state));
    CHECK(it.shape().progress().stage == progress.stage);
    if (state == StateId::kWarmUp) CHECK(it.shape().progress().count == 3);
    CHECK(it.shape().search.near_misses == (state == StateId::kSearching ? 1 : 0));
    CHECK(it.shape().program.has_value() == (state == StateId::kSearching));
    CHECK(it.refused() == (state == StateId::kEagerOnly ? 1 : 0));
    CHECK_FALSE(it.follows(20));
    for (const Lane lane : {Lane::kAuto, Lane::kReplay}) {
      Following other(lane, {{.step = 12, .progress = progress}});
      CHECK(other.step(15) == Outcome::kRan);
      CHECK(other.shape().is(StateId::kRecording));
    }
  }
}

TEST_CASE("a shape that cannot follow any further begins again, without the program that it had") {
  Following it(Lane::kAuto, {{0, kFirst}, {1, kSecond}});
  CHECK(it.step(0) == Outcome::kRan);
  CHECK(it.shape().is(StateId::kFollowing));
  CHECK(it.step(1) == Outcome::kCannotRepeat);
  CHECK(it.shape().is(StateId::kWarmUp));
  CHECK_FALSE(it.shape().incumbent);
  CHECK_FALSE(it.follows(1));
}

TEST_CASE("a program that was found to be wrong is not compiled again for the sake of a journal, and why is reported") {
  NamedProgram it(Lane::kCompiled);
  it.service.cache().quarantine(it.key, program::EntryFault::kWrong, "it differs from eager");
  CHECK(it.step() == Outcome::kCannotRepeat);
  CHECK(it.reported("tolaria.compile_started", "key").empty());
  CHECK(it.refused_because() == Texts{"the compiled program " + it.key + " was quarantined: it differs from eager"});
}

TEST_CASE("a program that was found to be wrong is not repeated either where its package came into the cache later") {
  NamedProgram it(Lane::kAuto);
  it.service.cache().quarantine(it.key, program::EntryFault::kWrong, "it differs from eager");
  it.stock(it.key);
  CHECK(it.step() == Outcome::kCannotRepeat);
  CHECK(it.refused_because() == Texts{"the compiled program " + it.key + " was quarantined: it differs from eager"});
}

TEST_CASE("a signal while a recorded program is compiled again ends the run before the step, and gives up no record") {
  base::Interrupt interrupt;
  interrupt.begin_saving();
  NamedProgram it(Lane::kCompiled);
  const auto held = it.hold(it.key);
  raise(SIGTERM);
  CHECK(it.step() == Outcome::kInterrupted);
  CHECK(it.shape.is(StateId::kFollowing));
  CHECK(it.journal.follows(it.shape, 0));
  CHECK(it.reported("tolaria.compile_started", "key") == Texts{it.key});
  CHECK(it.refused_because().empty());
  CHECK(it.figures.pending == 0);
  CHECK(it.figures.steps_in(Lane::kEager) == 0);
}

TEST_CASE("a package that was damaged since a run was killed is called damaged, and is counted") {
  for (const Lane lane : {Lane::kAuto, Lane::kCompiled}) {
    CAPTURE(static_cast<int>(lane));
    NamedProgram it(lane);
    it.stock(it.key);
    std::filesystem::resize_file(it.service.cache().entry_path(it.key), 50);
    CHECK(it.step() == Outcome::kCannotRepeat);
    const auto damage = it.reported("tolaria.compile_runtime_fallback", "error");
    REQUIRE(damage.size() == 1);
    CHECK(damage.front().starts_with("the entry " + it.key + " of the cache was not loaded: it"));
    CHECK(it.refused_because() == damage);
    CHECK(it.figures.quarantined == 1);
    CHECK(it.reported("tolaria.compile_started", "key").size() == (lane == Lane::kCompiled ? 1 : 0));
  }
}

}  // namespace esper::test::journal_follower_test
