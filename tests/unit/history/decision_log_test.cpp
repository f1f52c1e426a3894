#include "history/growth/decision_log.h"

#include <catch2/catch_test_macros.hpp>
#include <fstream>

#include "base/error.h"
#include "support/logged_decision.h"
#include "support/temporary_folder.h"

namespace esper::history::decision_log_test {
namespace {

class LoggedRun {
 public:
  LoggedRun() { std::ofstream(folder_ / "config.yaml") << "name: run\n"; }

  void add(const std::string& line) { std::ofstream(folder_ / kDecisionLog, std::ios::app) << line << '\n'; }
  void process(std::uint32_t epoch) { add(leyline::decision_line(test::logged_process(epoch))); }
  void decisions(std::uint32_t first, std::uint32_t last) {
    for (auto epoch = first; epoch <= last; ++epoch) add(leyline::decision_line(test::logged_decision(epoch)));
  }
  DecisionLog read() const { return read_decision_log(folder_.path()); }

 private:
  test::TemporaryFolder folder_;
};

std::vector<std::uint32_t> epochs_of(const DecisionLog& log) {
  std::vector<std::uint32_t> epochs;
  for (const auto& entry : log.entries) epochs.push_back(entry.record.observation.current_epoch);
  return epochs;
}

std::string error_of(const LoggedRun& run) {
  try {
    run.read();
    return "";
  } catch (const base::Error& error) {
    return error.what();
  }
}

}  // namespace

TEST_CASE("a log without decisions is told apart from one that has some, or had") {
  LoggedRun run;
  run.process(0);
  const auto empty = run.read();
  CHECK_THROWS_AS(require_decisions(empty, "run"), base::Error);
  run.add("damaged");
  CHECK_NOTHROW(require_decisions(run.read(), "run"));
  run.decisions(1, 2);
  CHECK_NOTHROW(require_decisions(run.read(), "run"));
}

TEST_CASE("each decision of a run that was resumed is there once, as the last process made it") {
  LoggedRun run;
  run.process(0);
  run.decisions(1, 5);
  run.process(3);  // a process was killed after epoch 5; the newest checkpoint was of epoch 3
  run.decisions(4, 6);
  const auto log = run.read();
  CHECK(epochs_of(log) == std::vector<std::uint32_t>{1, 2, 3, 4, 5, 6});
  CHECK(log.given_up == 2);
  REQUIRE(log.processes.size() == 2);
  CHECK(log.processes.at(log.entries[2].process).epoch == 0);
  CHECK(log.processes.at(log.entries[3].process).epoch == 3);
  CHECK(log.entries[3].line == 8);
  CHECK(log.damaged == 0);
}

TEST_CASE("a decision that was made again replaces the one before, and what followed that") {
  LoggedRun run;
  run.process(0);
  run.decisions(1, 4);
  run.add("the process that began here is not known");
  run.decisions(3, 3);
  const auto log = run.read();
  CHECK(epochs_of(log) == std::vector<std::uint32_t>{1, 2, 3});
  CHECK(log.entries.back().line == 7);
  CHECK(log.given_up == 2);
}

TEST_CASE("a damaged line is named, and costs itself alone") {
  LoggedRun run;
  run.process(0);
  run.decisions(1, 1);
  const auto line = leyline::decision_line(test::logged_decision(2));
  run.add(line.substr(0, line.size() / 2));
  run.add(std::string(leyline::kMostDecisionLine + 10, 'x'));
  run.decisions(3, 3);
  const auto log = run.read();
  CHECK(epochs_of(log) == std::vector<std::uint32_t>{1, 3});
  CHECK(log.damaged == 2);
  REQUIRE(log.gaps.size() >= 2);
  CHECK(log.gaps[0].starts_with("line 3 of "));
  CHECK(log.gaps[0].ends_with("was ignored: it was cut off"));
  CHECK(log.gaps[1].starts_with("line 4 of "));
}

TEST_CASE("many damaged lines are counted, not listed") {
  LoggedRun run;
  run.process(0);
  for (int i = 0; i < 50; ++i) run.add("rubbish");
  const auto log = run.read();
  CHECK(log.damaged == 50);
  CHECK(log.gaps.size() < 25);
}

TEST_CASE("decisions without their process are read, and said to be") {
  LoggedRun run;
  run.decisions(1, 1);
  const auto log = run.read();
  REQUIRE(log.entries.size() == 1);
  CHECK(log.processes.at(log.entries[0].process).policy == "gnn");
  CHECK(log.gaps.at(0).find("does not say which process") != std::string::npos);
}

TEST_CASE("a run without a log, a folder that is no run, an epoch without a decision: each with the way out") {
  LoggedRun run;
  CHECK(error_of(run).find("has no decisions.jsonl") != std::string::npos);
  const test::TemporaryFolder empty;
  CHECK_THROWS_AS(read_decision_log(empty.path()), base::Error);
  run.process(0);
  CHECK_THROWS_AS(decision_after(run.read(), 1), base::Error);
  run.decisions(2, 4);
  const auto log = run.read();
  CHECK(decision_after(log, 3).record.observation.current_epoch == 3);
  try {
    decision_after(log, 7);
    FAIL("there is no such decision");
  } catch (const base::Error& error) {
    CHECK(std::string(error.what()) == "there is no decision after epoch 7; the log has those after epochs 2 to 4");
  }
}

}  // namespace esper::history::decision_log_test
