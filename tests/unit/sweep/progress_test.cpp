#include "sweep/progress.h"

#include <catch2/catch_test_macros.hpp>
#include <cmath>

namespace esper::test::progress_test {

using namespace esper::sweep;

namespace {

using State = SeedProgress::State;

const double kNan = std::nan("");

}  // namespace

TEST_CASE("a configuration's result is the mean of its seeds, once all are there") {
  ConfigurationProgress progress;
  CHECK_FALSE(rung_result(progress, 0));
  progress.seeds = {{State::kReached, {1}}, {State::kRunning, {}}};
  CHECK_FALSE(rung_result(progress, 0));
  progress.seeds[1] = {State::kReached, {3}};
  CHECK(rung_result(progress, 0) == 2);
  CHECK_FALSE(rung_result(progress, 1));
}

TEST_CASE("a rung that was passed keeps its result") {
  ConfigurationProgress progress{{{State::kReached, {1, 5}}, {State::kRunning, {3}}}, 1};
  CHECK(rung_result(progress, 0) == 2);
  CHECK_FALSE(rung_result(progress, 1));
  progress.seeds[1].state = State::kFailed;
  CHECK(rung_result(progress, 0) == 2);
  CHECK(std::isnan(rung_result(progress, 1).value()));
}

TEST_CASE("a seed that failed or diverged makes the worst result, whatever the others do") {
  CHECK(std::isnan(rung_result({{{State::kFailed, {}}, {State::kRunning, {}}}, 0}, 0).value()));
  CHECK_FALSE(rung_result({{{State::kFailed, {}}}, 0}, 1));
  CHECK(std::isnan(rung_result({{{State::kReached, {kNan}}, {State::kReached, {1}}}, 0}, 0).value()));
  CHECK(std::isnan(rung_result({{{State::kReached, {INFINITY}}}, 0}, 0).value()));
}

TEST_CASE("any number is better than none") {
  CHECK(is_better(2, 1, Goal::kMaximize));
  CHECK(is_better(1, 2, Goal::kMinimize));
  CHECK_FALSE(is_better(1, 1, Goal::kMaximize));
  for (const Goal goal : {Goal::kMaximize, Goal::kMinimize}) {
    CHECK(is_better(-1e300, kNan, goal));
    CHECK_FALSE(is_better(kNan, 1e300, goal));
    CHECK_FALSE(is_better(kNan, kNan, goal));
  }
}

}  // namespace esper::test::progress_test
