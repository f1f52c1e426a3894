#include "lanes/shape/compile_queue.h"

#include <catch2/catch_test_macros.hpp>
#include <csignal>
#include <optional>

#include "base/interrupt.h"
#include "support/patience.h"
#include "unit/lanes/compiling_step.h"

namespace esper::test::compile_queue_test {

using namespace esper;
using namespace esper::tests;
using program::CompileFailure;
using program::CompileOutcome;
using End = lanes::CompileWait::End;

namespace {

using Keys = std::vector<std::string>;

std::optional<CompileOutcome> polled(CompilingStep& it, const std::string& key) {
  const base::Clock clock;
  const auto end = clock.now() + kPatience;
  for (;;) {
    auto outcome = it.queue.poll(key);
    if (outcome || clock.now() > end) return outcome;
    clock.sleep(std::chrono::milliseconds(1));
  }
}

}  // namespace

TEST_CASE("a compilation is pending until its outcome, which is given once") {
  CompilingStep it;
  const auto wanted = it.variant("default");
  {
    const auto held = it.hold(wanted.key);
    it.queue.start(it.recorded, wanted);
    CHECK(it.figures.pending == 1);
    CHECK(it.reported("tolaria.compile_started", "key") == Keys{wanted.key});
    CHECK_FALSE(it.queue.poll(wanted.key));
    CHECK(it.figures.pending == 1);
  }
  const auto outcome = polled(it, wanted.key);
  REQUIRE(outcome);
  CHECK(outcome->failure == CompileFailure::kNoPython);
  CHECK(outcome->recipe == "default");
  CHECK(it.figures.pending == 0);
  CHECK_FALSE(it.queue.poll(wanted.key));
  CHECK(it.figures.pending == 0);
  CHECK(it.reported("tolaria.compile_finished", "key").empty());
}

TEST_CASE("a package that another run has compiled meanwhile is an outcome, and whose it is is reported") {
  CompilingStep it;
  const auto wanted = it.variant("default", program::CompileEffort::kFull);
  it.stock(wanted.key);
  it.queue.start(it.recorded, wanted);
  const auto [end, outcome] = it.queue.wait(wanted.key);
  CHECK(end == End::kOutcome);
  REQUIRE(outcome);
  CHECK_FALSE(outcome->failure);
  CHECK(it.figures.pending == 0);
  CHECK(it.figures.compile_ms == 1000);
  CHECK(it.reported("tolaria.compile_finished", "key") == Keys{wanted.key});
  CHECK(it.reported("tolaria.compile_finished", "compiled_by") == Keys{"another process"});
}

TEST_CASE("a program that is compiled again after it was given up has the outcome of its second compilation") {
  CompilingStep it;
  const auto wanted = it.variant("default");
  {
    const auto held = it.hold(wanted.key);
    it.queue.start(it.recorded, wanted);
    it.queue.give_up(wanted.key);
    CHECK(it.figures.pending == 0);
    it.queue.start(it.recorded, wanted);
    CHECK(it.figures.pending == 1);
  }
  const auto [end, outcome] = it.queue.wait(wanted.key);
  CHECK(end == End::kOutcome);
  REQUIRE(outcome);
  CHECK(outcome->failure == CompileFailure::kNoPython);
  CHECK(it.figures.pending == 0);
}

TEST_CASE("a signal ends the wait for a program, which is then compiled no further") {
  base::Interrupt interrupt;
  interrupt.begin_saving();
  CompilingStep it;
  const auto wanted = it.variant("default");
  const auto held = it.hold(wanted.key);
  it.queue.start(it.recorded, wanted);
  raise(SIGTERM);
  const auto [end, outcome] = it.queue.wait(wanted.key);
  CHECK(end == End::kInterrupted);
  CHECK_FALSE(outcome);
  CHECK(it.figures.pending == 0);
  const auto cancelled = it.service.wait(wanted.key, kPatience);
  REQUIRE(cancelled);
  CHECK(cancelled->failure == CompileFailure::kCancelled);
}

TEST_CASE("a program that has not come after the longest wait is given up, and that it is waited for was reported") {
  CompilingStep it;
  const auto wanted = it.variant("default");
  const auto held = it.hold(wanted.key);
  const HurriedTime hurried(it);
  it.queue.start(it.recorded, wanted);
  const auto [end, outcome] = it.queue.wait(wanted.key);
  CHECK(end == End::kLate);
  CHECK_FALSE(outcome);
  CHECK(it.figures.pending == 0);
  CHECK(it.reported("tolaria.compile_waiting", "key") == Keys{wanted.key});
  CHECK(std::stoi(it.reported("tolaria.compile_waiting", "waited_s").at(0)) >= 5);
  const auto cancelled = it.service.wait(wanted.key, kPatience);
  REQUIRE(cancelled);
  CHECK(cancelled->failure == CompileFailure::kCancelled);
}

TEST_CASE("one program is compiled ahead at a time, and it makes way for one that is in use") {
  CompilingStep it;
  const auto ahead = it.variant("default"), other = it.variant("loops");
  const auto held = it.hold(ahead.key), held_too = it.hold(other.key);
  CHECK_FALSE(it.queue.is_precompiling());
  CHECK(it.queue.precompile(it.recorded, {"host", "shape", ahead}));
  CHECK_FALSE(it.queue.precompile(it.recorded, {"host", "shape", other}));
  CHECK(it.queue.is_precompiling());
  CHECK(it.figures.pending == 1);
  CHECK_FALSE(it.queue.poll_precompilation());

  CHECK(it.queue.start(it.recorded, other));
  CHECK_FALSE(it.queue.is_precompiling());
  CHECK(it.figures.pending == 1);
  CHECK(it.reported("tolaria.compile_started", "key") == Keys{ahead.key, other.key});
  CHECK_FALSE(it.queue.take_over("host", "shape"));
  CHECK_FALSE(it.queue.poll_precompilation());
}

TEST_CASE("what is compiled ahead is not compiled again where it comes into use") {
  CompilingStep it;
  const auto ahead = it.variant("default");
  auto held = std::optional(it.hold(ahead.key));
  REQUIRE(it.queue.precompile(it.recorded, {"host", "shape", ahead}));
  SECTION("by its program") { CHECK_FALSE(it.queue.start(it.recorded, ahead)); }
  SECTION("by its structure and shape") {
    CHECK_FALSE(it.queue.take_over("host", "another shape"));
    CHECK_FALSE(it.queue.take_over("another structure", "shape"));
    CHECK(it.queue.is_precompiling());
    const auto taken = it.queue.take_over("host", "shape");
    REQUIRE(taken);
    CHECK(taken->key == ahead.key);
  }
  CHECK_FALSE(it.queue.is_precompiling());
  CHECK(it.figures.pending == 1);
  CHECK(it.reported("tolaria.compile_started", "key") == Keys{ahead.key});
  held.reset();
  CHECK(polled(it, ahead.key));
  CHECK(it.figures.pending == 0);
}

TEST_CASE("the outcome of a program that was compiled ahead says what it was for, once") {
  CompilingStep it;
  const auto ahead = it.variant("default", program::CompileEffort::kFull);
  it.stock(ahead.key);
  REQUIRE(it.queue.precompile(it.recorded, {"host", "shape", ahead}));
  const base::Clock clock;
  const auto end = clock.now() + kPatience;
  auto done = it.queue.poll_precompilation();
  for (; !done && clock.now() < end; done = it.queue.poll_precompilation()) clock.sleep(std::chrono::milliseconds(1));
  REQUIRE(done);
  CHECK(done->first.structure == "host");
  CHECK(done->first.shape == "shape");
  CHECK(done->first.variant.key == ahead.key);
  CHECK_FALSE(done->second.failure);
  CHECK_FALSE(it.queue.is_precompiling());
  CHECK(it.figures.pending == 0);
  CHECK_FALSE(it.queue.poll_precompilation());
}

}  // namespace esper::test::compile_queue_test
