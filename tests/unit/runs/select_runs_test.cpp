#include "runs/select_runs.h"

#include <catch2/catch_test_macros.hpp>
#include <cmath>

namespace esper::runs::select_runs_test {
namespace {

RunRecord record(const std::string& name, RunState state, std::int64_t started, double accuracy) {
  RunRecord made;
  made.name = name;
  made.state = state;
  made.started_ms = started;
  made.written_ms = started + 10;
  made.metric = "accuracy";
  made.best.figures["accuracy"] = accuracy;
  return made;
}

std::string names_in(const std::vector<RunRecord>& records) {
  std::string names;
  for (const auto& one : records) names += one.name;
  return names;
}

const std::vector<RunRecord> kRecords = {record("a", RunState::kFinished, 100, 0.5),
                                         record("b", RunState::kFailed, 300, NAN),
                                         record("c", RunState::kFinished, 200, 0.9)};

std::string selected(const Selection& selection) { return names_in(select_runs(kRecords, selection)); }

}  // namespace

TEST_CASE("runs are selected by state, name and time, and cut off") {
  CHECK(selected({}) == "bca");
  CHECK(selected({.states = {RunState::kFinished}}) == "ca");
  CHECK(selected({.states = {RunState::kFailed, RunState::kDamaged}}) == "b");
  CHECK(selected({.name_pattern = "c*"}) == "c");
  CHECK(selected({.written_ms = 211}) == "b");
  CHECK(selected({.written_ms = 210}) == "bc");
  CHECK(selected({.limit = 2}) == "bc");
}

TEST_CASE("the better figure comes first, whichever is better, and what has none last") {
  CHECK(selected({.sort = SortKey::kBest}) == "cab");
  auto losses = kRecords;
  for (auto& one : losses) one.goal = Goal::kMinimize;
  CHECK(names_in(select_runs(losses, {.sort = SortKey::kBest})) == "acb");
  losses[2].best.figures.clear();
  CHECK(names_in(select_runs(losses, {.sort = SortKey::kBest})) == "abc");
}

TEST_CASE("names go from A to Z, amounts from the largest on") {
  CHECK(selected({.sort = SortKey::kName}) == "abc");
  CHECK(selected({.sort = SortKey::kState}) == "bac");
  auto sizes = kRecords;
  sizes[1].bytes = 7;
  sizes[2].bytes = 9;
  CHECK(names_in(select_runs(sizes, {.sort = SortKey::kBytes})) == "cba");
}

}  // namespace esper::runs::select_runs_test
