#include "lanes/structure/precompilation.h"

#include <catch2/catch_test_macros.hpp>
#include <csignal>

#include "base/interrupt.h"
#include "support/patience.h"
#include "unit/lanes/compiling_step.h"

namespace esper::test::precompilation_test {

using namespace esper;
using namespace esper::tests;
using config::Lane;
using lanes::KnownStep;
using lanes::KnownStructure;
using program::CompileEffort;

namespace {

using Keys = std::vector<std::string>;

constexpr char kStructure[] = "one seed";

// Steps of a structure that may come. Lane compiled, so that every package is wanted.
struct Ahead : CompilingStep {
  Ahead() { config.lane = Lane::kCompiled; }

  KnownStep step_of(const std::string& shape, const std::string& recipe = "default") const {
    KnownStep step{shape, recorded};
    step.variant = variant(recipe, CompileEffort::kFull);
    return step;
  }
  KnownStructure& known(std::vector<KnownStep> steps) {
    KnownStructure made{kStructure};
    made.steps = std::move(steps);
    return library.put(std::move(made));
  }
  void precompile(const KnownStructure& structure, Lane in_use = Lane::kCompiled, std::int64_t left = 1000) {
    lanes::precompile(context, queue, structure, {in_use, examples, left});
  }
  // Until the compilation ahead has come to an outcome.
  void take() {
    const base::Clock clock;
    const auto end = clock.now() + kPatience;
    while (queue.is_precompiling() && clock.now() < end) {
      lanes::take_precompiled(queue, failures, library);
      clock.sleep(std::chrono::milliseconds(1));
    }
    REQUIRE_FALSE(queue.is_precompiling());
  }
  Keys started() const { return reported("tolaria.compile_started", "key"); }

  lanes::LaneFailures failures{services, figures};
  lanes::StructureLibrary library;
  lanes::DryRun::Examples examples;
};

struct WaitingRun : Ahead {
  lanes::DryRun waits_with(std::vector<KnownStep> steps) {
    KnownStructure made{kStructure};
    made.steps = std::move(steps);
    return {context, failures, examples, make_model(c), std::move(made), {}};
  }
  void wait(lanes::DryRun& run) { lanes::wait_for_packages(run, queue, failures, figures); }
};

}  // namespace

TEST_CASE("the first package that a step waits for is compiled ahead, and the next one after it") {
  Ahead it;
  KnownStep ready = it.step_of("ready", "a"), cached = it.step_of("cached", "b"), lost = it.step_of("lost", "c");
  ready.ready = lanes::LoadedProgram{nullptr, ready.variant.key, 1};
  cached.in_cache = true;
  lost.unavailable = true;
  KnownStep uncompiled{"uncompiled", it.recorded};
  KnownStructure& known =
      it.known({ready, cached, lost, uncompiled, it.step_of("first", "d"), it.step_of("second", "e")});
  const std::string first = known.steps[4].variant.key, second = known.steps[5].variant.key;
  {
    const auto held = it.hold(first);
    for (int call = 0; call < 2; ++call) {
      it.precompile(known);
      lanes::take_precompiled(it.queue, it.failures, it.library);
      CHECK(it.started() == Keys{first});
      CHECK(it.figures.cache_misses == 1);
    }
  }
  it.take();
  it.precompile(known);
  CHECK(it.started() == Keys{first, second});
  CHECK(it.figures.cache_misses == 2);
  it.take();
  it.precompile(known);
  CHECK(it.started().size() == 2);
}

TEST_CASE("a package that was compiled ahead is found by each step that runs it, and by no other") {
  Ahead it;
  KnownStructure& known = it.known({it.step_of("large"), it.step_of("small"), it.step_of("other", "loops")});
  it.stock(known.steps[0].variant.key);
  it.precompile(known);
  it.take();
  CHECK(known.steps[0].in_cache);
  CHECK(known.steps[1].in_cache);
  CHECK_FALSE(known.steps[2].in_cache);
  for (const KnownStep& step : known.steps) CHECK_FALSE(step.unavailable);
  CHECK(it.reported("tolaria.compile_fallback", "error").empty());
}

TEST_CASE("a package that could not be compiled ahead is waited for by none of its steps, and why is reported once") {
  Ahead it;
  KnownStructure& known = it.known({it.step_of("large"), it.step_of("small"), it.step_of("other", "loops")});
  it.precompile(known);
  it.take();
  CHECK(known.steps[0].unavailable);
  CHECK(known.steps[1].unavailable);
  CHECK_FALSE(known.steps[2].unavailable);
  CHECK_FALSE(known.steps[0].in_cache);
  it.precompile(known);
  it.take();
  CHECK(known.steps[2].unavailable);
  CHECK(it.reported("tolaria.compile_fallback", "error") == Keys{"no_python"});
}

TEST_CASE("what was compiled ahead for a structure that is known no more makes room for the next") {
  Ahead it;
  it.precompile(it.known({it.step_of("large")}));
  it.library.drop(kStructure);
  it.take();
  KnownStructure& again = it.known({it.step_of("large", "loops")});
  it.precompile(again);
  CHECK(it.started().size() == 2);
  CHECK_FALSE(again.steps[0].unavailable);
}

TEST_CASE("in lane auto a package is compiled ahead where the run's steps are compiled and enough of them are left") {
  Ahead it;
  it.config.lane = Lane::kAuto;
  it.figures.steady_step_us = 1e6;
  const KnownStructure& known = it.known({it.step_of("large")});
  it.precompile(known);  // the run has no step of that shape
  it.examples["large"] = {{}, {}, 1000};
  it.precompile(known, Lane::kReplay);
  it.precompile(known, Lane::kCompiled, 1);
  it.examples["large"].left = 1;
  it.precompile(known);
  CHECK(it.started().empty());
  CHECK(it.figures.cache_misses == 0);

  it.examples["large"].left = 1000;
  it.precompile(known);
  CHECK(it.started().size() == 1);
}

TEST_CASE("a package that cannot be compiled is waited for by none of the steps that share it, and never again") {
  WaitingRun it;
  auto run = it.waits_with({it.step_of("large"), it.step_of("small"), it.step_of("other", "loops")});
  it.wait(run);
  for (const KnownStep& step : run.known().steps) CHECK(step.unavailable);
  CHECK(it.started().size() == 2);
  CHECK(it.figures.cache_misses == 2);
  CHECK(it.figures.pending == 0);
  CHECK(it.reported("tolaria.compile_fallback", "error") == Keys{"no_python"});
  it.wait(run);
  CHECK(it.started().size() == 2);
}

TEST_CASE("a run that waits for what is compiled ahead already takes it over: it is one miss of the cache") {
  WaitingRun it;
  auto run = it.waits_with({it.step_of("large")});
  const std::string key = run.known().steps[0].variant.key;
  {
    const auto held = it.hold(key);
    it.precompile(run.known());
    REQUIRE(it.queue.is_precompiling());
  }
  it.wait(run);
  CHECK_FALSE(it.queue.is_precompiling());
  CHECK(run.known().steps[0].unavailable);
  CHECK(it.started() == Keys{key});
  CHECK(it.figures.cache_misses == 1);
}

TEST_CASE("a package that is there is waited for once, and every step can load it") {
  WaitingRun it;
  auto run = it.waits_with({it.step_of("large"), it.step_of("small")});
  it.stock(run.known().steps[0].variant.key);
  it.wait(run);
  CHECK(it.started().size() == 1);
  for (const KnownStep& step : run.known().steps) CHECK(step.waits_for_package());  // until it is loaded
  CHECK(it.reported("tolaria.compile_fallback", "error").empty());
}

TEST_CASE("a run that is to stop waits for no package, and each is waited for again where it goes on") {
  base::Interrupt interrupt;
  interrupt.begin_saving();
  WaitingRun it;
  auto run = it.waits_with({it.step_of("large"), it.step_of("other", "loops")});
  const auto held = it.hold(run.known().steps[0].variant.key);
  raise(SIGTERM);
  it.wait(run);
  for (const KnownStep& step : run.known().steps) CHECK(step.waits_for_package());
  CHECK(it.started().size() == 1);
  CHECK(it.figures.pending == 0);
  CHECK(it.reported("tolaria.compile_fallback", "error").empty());
}

}  // namespace esper::test::precompilation_test
