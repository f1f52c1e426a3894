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
  Texts fallbacks() const { return reported("tolaria.compile_fallback", "error"); }

  std::vector<step::Microbatch> batch = make_batches(c, 1);
  lanes::LaneFailures failures{services, figures};
  lanes::ShapeSet shapes;
  lanes::StepShape& shape = shapes.add(model->network.structure_version(), batch);
  lanes::CandidateSearch search{context, shapes, failures, queue};
};

// A compiled lane of any package; its step does nothing.
lanes::ExpectedLane make_loaded_lane(const lanes::LaneRequest& request) {
  return lanes::Lane(Lane::kCompiled, [](auto) {},
                     {nullptr, std::get<lanes::PackageFile>(request.program.package).key, 1});
}

// The lanes, where every package loads.
const std::vector<lanes::LaneKind>& loading_kinds() {
  static const std::vector<lanes::LaneKind> loading = [] {
    std::vector<lanes::LaneKind> kinds(lanes::lane_kinds().begin(), lanes::lane_kinds().end());
    for (auto& kind : kinds) {
      if (kind.has_compiler) kind.make = &make_loaded_lane;
    }
    return kinds;
  }();
  return loading;
}

// The cache has the program of the first recipe, compiled with this effort.
struct Stocked : Recorded {
  Stocked(Lane lane, const std::string& effort) : Recorded(lane) {
    services.kinds = loading_kinds();
    stock(key, effort);
  }
  const std::string key = variant(service.recipes(recorded).front()).key;
};

}  // namespace

TEST_CASE("lane compiled waits for its program in full effort, and runs a quick one only where it gets no other") {
  Stocked full(Lane::kCompiled, "full"), quick(Lane::kCompiled, "quick");
  const auto taken = full.next(), left = quick.next();
  REQUIRE(taken);
  CHECK(taken->key() == full.key);
  CHECK(full.figures.cache_hits == 1);
  CHECK(full.started().empty());
  CHECK(full.fallbacks().empty());

  REQUIRE(left);
  CHECK(left->key() == quick.key);
  CHECK(quick.figures.cache_hits == 0);
  CHECK(quick.figures.cache_misses == 1);
  CHECK(quick.started() == Texts{quick.key});
  CHECK(quick.fallbacks() == Texts{"no_python"});
}

TEST_CASE("in lane auto a quick program is tried at once, and is wanted in full effort; a full one is all there is") {
  Stocked quick(Lane::kAuto, "quick"), full(Lane::kAuto, "full");
  for (Stocked* const it : {&quick, &full}) {
    const auto candidate = it->next();
    REQUIRE(candidate);
    CHECK(candidate->key() == it->key);
    CHECK(it->figures.cache_hits == 1);
    CHECK(it->started().empty());
  }
  CHECK(quick.shape.search.undecided);
  REQUIRE(quick.shape.search.wanted.size() == 1);
  CHECK(quick.shape.search.wanted.front().key == quick.key);
  CHECK(quick.shape.search.wanted.front().effort == CompileEffort::kFull);
  CHECK_FALSE(full.shape.search.undecided);
  CHECK(full.shape.search.wanted.empty());
}

TEST_CASE("lane compiled goes on in eager where its program does not come in time, and says so") {
  Recorded it(Lane::kCompiled);
  const auto held = it.hold(it.variant(it.service.recipes(it.recorded).front()).key);
  const HurriedTime hurried(it);
  CHECK_FALSE(it.next());
  CHECK_FALSE(it.shape.search.compiling);
  CHECK(it.figures.pending == 0);
  CHECK(it.fallbacks() == Texts{"timeout"});
}

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
