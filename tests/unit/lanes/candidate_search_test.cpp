#include "lanes/candidate_search.h"

#include <catch2/catch_test_macros.hpp>
#include <csignal>

#include "base/interrupt.h"
#include "support/patience.h"
#include "unit/lanes/compiling_step.h"

namespace esper::test::candidate_search_test {

using namespace esper;
using namespace esper::tests;
using config::Lane;
using program::CompileEffort;
using program::EntryFault;

namespace {

using Texts = std::vector<std::string>;

// A shape whose step was just recorded, in a run with this lane.
struct Recorded : CompilingStep {
  explicit Recorded(Lane lane) {
    config.lane = lane;
    shape.program = recorded;
    shape.state = lanes::Searching{};
  }
  std::optional<lanes::Lane> next() { return search.next(shape, batch); }
  // Until a compilation that was started has come to an outcome.
  std::optional<lanes::Lane> next_outcome() {
    const base::Clock clock;
    const auto end = clock.now() + kPatience;
    const std::string key = shape.search.compiling->key;
    std::optional<lanes::Lane> candidate;
    while (shape.search.compiling && shape.search.compiling->key == key && clock.now() < end) {
      candidate = next();
      clock.sleep(std::chrono::milliseconds(1));
    }
    return candidate;
  }
  Texts started() const { return reported("tolaria.compile_started", "key"); }

  std::vector<step::Microbatch> batch = make_batches(c, 1);
  lanes::LaneFailures failures{services, figures};
  lanes::ShapeSet shapes;
  lanes::StepShape& shape = shapes.add(model->network.structure_version(), batch);
  lanes::CandidateSearch search{context, shapes, failures, queue};
};

}  // namespace

TEST_CASE("in lane auto a recorded step is replayed first, and whether to compile it waits until it is timed") {
  Recorded it(Lane::kAuto);
  const auto candidate = it.next();
  REQUIRE(candidate);
  CHECK(candidate->kind() == Lane::kReplay);
  CHECK(it.shape.search.undecided);
  CHECK(it.shape.search.wanted.size() == 2);
  CHECK(it.figures.cache_misses == 1);
  CHECK(it.started().empty());
  CHECK_FALSE(it.next());
}

TEST_CASE("where the compiler cannot work, no other recipe is tried, and the reason is reported once") {
  Recorded it(Lane::kAuto);
  it.next();
  it.shape.search.undecided = false;
  it.shape.search.compiling = it.shape.search.wanted.front();
  it.shape.search.wanted.pop_front();
  it.queue.start(it.recorded, *it.shape.search.compiling);
  CHECK_FALSE(it.next_outcome());
  CHECK_FALSE(it.shape.search.compiling);
  CHECK(it.shape.search.wanted.empty());
  CHECK(it.started().size() == 1);
  CHECK(it.reported("tolaria.compile_fallback", "error") == Texts{"no_python"});
}

TEST_CASE("a program whose steps were found to be wrong while it was compiled is not loaded") {
  Recorded it(Lane::kAuto);
  it.next();
  it.shape.search.undecided = false;
  it.shape.search.wanted.clear();
  const auto wrong = it.variant("default", CompileEffort::kFull);
  it.service.cache().quarantine(wrong.key, EntryFault::kWrong, "it differs from eager");
  it.stock(wrong.key);
  it.shape.search.compiling = wrong;
  it.queue.start(it.recorded, wrong);
  CHECK_FALSE(it.next_outcome());
  CHECK(it.shape.search.recipe.empty());
  CHECK(it.reported("tolaria.compile_runtime_fallback", "error").empty());  // nobody tried to load what it holds
  CHECK(it.figures.quarantined == 0);
  CHECK(it.reported("tolaria.lane_refused", "reason") ==
        Texts{"it was quarantined while it was compiled: it differs from eager"});
}

TEST_CASE("where every recipe was compiled before and found to be wrong, nothing is compiled, and why is reported") {
  Recorded it(Lane::kCompiled);
  for (const auto& recipe : it.service.recipes(it.recorded)) {
    it.service.cache().quarantine(it.variant(recipe).key, EntryFault::kWrong, recipe + " differs");
  }
  CHECK_FALSE(it.next());
  CHECK(it.started().empty());
  CHECK(it.reported("tolaria.compile_fallback", "error") == Texts{"quarantined"});
  CHECK(it.reported("tolaria.compile_fallback", "reason") ==
        Texts{"the program was compiled before and quarantined: default differs"});
}

TEST_CASE("lane compiled waits for its program at once, and stays in eager where that cannot be compiled") {
  Recorded it(Lane::kCompiled);
  const std::string first = it.service.recipes(it.recorded).front();
  CHECK_FALSE(it.next());
  CHECK(it.started() == Texts{it.variant(first).key});
  CHECK(it.figures.pending == 0);
  CHECK(it.figures.cache_misses == 1);
  CHECK_FALSE(it.shape.search.compiling);
  CHECK(it.reported("tolaria.compile_fallback", "error") == Texts{"no_python"});
  CHECK_FALSE(it.next());
  CHECK(it.started().size() == 1);
}

TEST_CASE("a package that this machine cannot load is reported once, and nothing is compiled in its place") {
  for (const Lane lane : {Lane::kAuto, Lane::kCompiled}) {
    CAPTURE(static_cast<int>(lane));
    Recorded it(lane);
    for (const auto& recipe : it.service.recipes(it.recorded)) it.stock(it.variant(recipe).key);
    const test::EnvironmentVariable nowhere("TMPDIR", it.folder / "no such folder");
    const auto candidate = it.next();
    CHECK(candidate.has_value() == (lane == Lane::kAuto));  // its replay
    CHECK_FALSE(it.next());
    CHECK(it.reported("tolaria.compile_runtime_fallback", "error").size() == 1);
    CHECK(it.started().empty());
    CHECK_FALSE(it.shape.search.undecided);
    CHECK(it.shape.search.wanted.empty());
    CHECK(it.figures.quarantined == 0);
  }
}

TEST_CASE("a signal ends the wait of lane compiled without a report: the run goes on elsewhere") {
  base::Interrupt interrupt;
  interrupt.begin_saving();
  Recorded it(Lane::kCompiled);
  const auto held = it.hold(it.variant(it.service.recipes(it.recorded).front()).key);
  raise(SIGTERM);
  CHECK_FALSE(it.next());
  CHECK_FALSE(it.shape.search.compiling);
  CHECK(it.figures.pending == 0);
  CHECK(it.reported("tolaria.compile_fallback", "error").empty());
}

}  // namespace esper::test::candidate_search_test
