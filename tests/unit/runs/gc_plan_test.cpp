#include "runs/gc_plan.h"

#include <catch2/catch_test_macros.hpp>

namespace esper::runs::gc_plan_test {
namespace {

using What = GcOptions::What;

GcRun run(const std::string& path, RunState state, std::int64_t written, std::uint64_t bytes) {
  GcRun made;
  made.record.path = path;
  made.record.stamp = "stamp of " + path;
  made.record.state = state;
  made.record.written_ms = written;
  made.record.bytes = bytes;
  return made;
}

std::vector<std::string> paths_of(const GcPlan& plan) {
  std::vector<std::string> paths;
  for (const auto& item : plan.items) paths.push_back(item.run);
  return paths;
}

std::string reason_of(const GcPlan& plan, const std::string& run) {
  for (const auto& kept : plan.kept) {
    if (kept.run == run) return kept.reason;
  }
  return {};
}

using Paths = std::vector<std::string>;

const std::vector<GcRun> kRuns = {
    run("/r/old", RunState::kInterrupted, 1000, 10), run("/r/done", RunState::kFinished, 2000, 20),
    run("/r/new", RunState::kInterrupted, 3000, 40), run("/r/now", RunState::kRunning, 100, 80),
    run("/r/bad", RunState::kDamaged, 500, 160)};

}  // namespace

TEST_CASE("runs of the named states go, and what that frees is known") {
  const auto plan = gc_plan(kRuns, {.states = {RunState::kInterrupted}}, 10'000);
  CHECK(paths_of(plan) == Paths{"/r/new", "/r/old"});
  CHECK(plan.bytes == 50);
  CHECK(plan.items[0].stamp == "stamp of /r/new");
  CHECK(plan.items[0].checkpoints.empty());
}

TEST_CASE("running runs stay even where they are named, damaged ones where they are not") {
  CHECK(paths_of(gc_plan(kRuns, {}, 10'000)) == Paths{"/r/new", "/r/done", "/r/old"});
  const auto plan = gc_plan(kRuns, {.states = {RunState::kRunning, RunState::kDamaged}}, 10'000);
  CHECK(paths_of(plan) == Paths{"/r/bad"});
  CHECK(reason_of(plan, "/r/now") == "it is running");
}

TEST_CASE("the newest runs stay, and those that were written to lately") {
  const auto newest = gc_plan(kRuns, {.keep_last = 2}, 10'000);
  CHECK(paths_of(newest) == Paths{"/r/old"});
  CHECK(reason_of(newest, "/r/done") == "one of the newest 2");
  const auto old = gc_plan(kRuns, {.older_than_ms = 8000}, 10'000);
  CHECK(paths_of(old) == Paths{"/r/done", "/r/old"});
  CHECK(reason_of(old, "/r/new") == "a process wrote to it since");
}

TEST_CASE("a run stays as long as a fork of it stays, over any number of forks") {
  auto runs = kRuns;
  runs[1].record.parent = "/r/old";
  runs[2].record.parent = "/elsewhere/done";  // moved here with its parent
  CHECK(paths_of(gc_plan(runs, {}, 10'000)) == Paths{"/r/new", "/r/done", "/r/old"});
  const auto plan = gc_plan(runs, {.keep_last = 1}, 10'000);
  CHECK(plan.items.empty());
  CHECK(plan.bytes == 0);
  CHECK(reason_of(plan, "/r/done") == "/r/new was forked from it");
  CHECK(reason_of(plan, "/r/old") == "/r/done was forked from it");
}

TEST_CASE("a run that cannot be deleted stays with the reason, and so does the run that it was forked from") {
  auto runs = kRuns;
  runs[1].refusal = "/r/done holds another run";
  runs[1].record.parent = "/r/old";
  runs[3].refusal = "not asked for";
  const auto plan = gc_plan(runs, {}, 10'000);
  CHECK(paths_of(plan) == Paths{"/r/new"});
  CHECK(plan.bytes == 40);
  CHECK(reason_of(plan, "/r/done") == "/r/done holds another run");
  CHECK(reason_of(plan, "/r/old") == "/r/done was forked from it");
  CHECK(plan.kept.size() == 2);
}

TEST_CASE("of finished runs the checkpoints go that nothing needs") {
  auto runs = kRuns;
  runs[1].checkpoints = {{"one", 1, ""}, {"two", 2, "the best"}, {"three", 4, ""}, {"four", 8, "the last"}};
  runs[0].checkpoints = {{"one", 1, ""}};  // not finished
  const auto plan = gc_plan(runs, {.what = What::kCheckpoints}, 10'000);
  REQUIRE(paths_of(plan) == Paths{"/r/done"});
  CHECK(plan.items[0].checkpoints == Paths{"one", "three"});
  CHECK(plan.bytes == 5);
  CHECK(gc_plan(runs, {.what = What::kCheckpoints, .older_than_ms = 9000}, 10'000).items.empty());
  CHECK(gc_plan(runs, {.what = What::kCheckpoints, .keep_last = 1}, 10'000).items.empty());
  runs[1].checkpoints = {{"four", 8, "the last"}};
  CHECK(gc_plan(runs, {.what = What::kCheckpoints}, 10'000).items.empty());
}

TEST_CASE("no runs, no plan") { CHECK(gc_plan({}, {}, 0).items.empty()); }

}  // namespace esper::runs::gc_plan_test
