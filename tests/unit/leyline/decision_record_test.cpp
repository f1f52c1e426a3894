#include "leyline/decision_record.h"

#include <catch2/catch_test_macros.hpp>
#include <cmath>

#include "support/logged_decision.h"

namespace esper::leyline::decision_record_test {
namespace {

std::string problem_of(std::string_view line) { return read_decision_line(line).error_or(""); }

}  // namespace

TEST_CASE("a record and a process come back from their lines") {
  const auto line = decision_line(test::logged_decision());
  CHECK(line.find('\n') == std::string::npos);
  const auto read = read_decision_line(line);
  REQUIRE(read);
  const auto& record = std::get<DecisionRecord>(*read);
  CHECK(decision_line(record) == line);
  CHECK(record.shadows.at(0).answer.outcome == "late");
  CHECK(record.carried_out.commands.size() == 1);
  CHECK(record.held_by == "loss_spike");
  const auto process = read_decision_line(decision_line(test::logged_process(4)));
  REQUIRE(process);
  CHECK(std::get<DecisionProcess>(*process).epoch == 4);
  CHECK(std::get<DecisionProcess>(*process).config == "name: run\n");
}

TEST_CASE("a line that was cut off anywhere, or changed in any byte, is refused") {
  const auto line = decision_line(test::logged_process());
  for (std::size_t i = 0; i < line.size(); ++i) {
    CAPTURE(i);
    CHECK(problem_of(line.substr(0, i)) != "");
    auto changed = line;
    changed[i] = static_cast<char>(changed[i] ^ 1);
    CHECK(problem_of(changed) != "");
  }
  CHECK(problem_of(line) == "");
  CHECK(problem_of("{}") == "it does not begin with a checksum");
  CHECK(problem_of(std::string(kMostDecisionLine + 1, 'a')).starts_with("it has "));
  auto later = test::logged_process();
  later.format = 2;
  CHECK(problem_of(decision_line(later)) == "another version wrote it");
}

TEST_CASE("decisions are compared bit for bit, but for the times of their making") {
  const auto decision = test::full_decision();
  auto again = decision;
  again.assessment->network_ms = 77;
  CHECK_FALSE(difference(decision, again));
  again.commands[0].seed_operation->slot = "r0c2";
  CHECK(difference(decision, again) == "commands[0].seed_operation.slot: \"r0c1\", then \"r0c2\"");
  again = decision;
  again.commands.pop_back();
  CHECK(difference(decision, again) == "commands: 2 entries, then 1 entries");
  again = decision;
  again.assessment->value = std::nextafter(0.1, 1.0);
  CHECK(difference(decision, again).value_or("").starts_with("assessment.value: 0.1, then 0.1"));
  again = decision;
  again.assessment.reset();
  CHECK(difference(decision, again));
}

}  // namespace esper::leyline::decision_record_test
