#include "simic/imitation/teacher.h"

#include <catch2/catch_test_macros.hpp>

#include "unit/simic_imitation/taught_run.h"

namespace esper::test::teacher_test {

using namespace esper;
using namespace esper::simic;

namespace {

// Germinates where it is not barred once it was asked `patience` times since it last did.
class Patient final : public leyline::Controller {
 public:
  explicit Patient(int patience) : patience_(patience) {}

  leyline::Decision decide(const leyline::Observation& observation) override {
    leyline::Decision decision;
    if (++asked_ >= patience_ && observation.germination_barred.empty()) {
      decision.commands = {germinate("r0c1", "norm")};
      asked_ = 0;
    }
    return decision;
  }
  std::string save_state() const override { return std::to_string(asked_); }
  void load_state(const std::string& text) override { asked_ = std::stoi(text); }

 private:
  int patience_, asked_ = 0;
};

std::vector<bool> germinations_of(const std::vector<std::optional<leyline::Decision>>& answers) {
  std::vector<bool> all;
  for (const auto& answer : answers) all.push_back(answer && !answer->commands.empty());
  return all;
}

}  // namespace

TEST_CASE("where the teacher decided itself its logged decisions count") {
  auto log = log_of({entry_after(1, {}), entry_after(2, {germinate("r0c1", "norm")}), entry_after(3, {})});
  log.entries[2].record.answer.outcome = "late";
  const auto answers = answers_of_teacher(log, "heuristic", [](std::size_t) -> leyline::Controller& {
    FAIL("nobody need be asked");
    throw 0;
  });
  CHECK(germinations_of(answers) == std::vector{false, true, false});
  CHECK(!answers[2]);
}

TEST_CASE("where another policy decided the teacher is asked again, and waits on as long as nothing is carried out") {
  const auto log = log_of({entry_after(1, {}, "gnn"), entry_after(2, {}, "gnn"), entry_after(3, {}, "gnn"),
                           entry_after(4, {germinate("r0c1", "norm")}, "gnn"), entry_after(5, {}, "gnn"),
                           entry_after(6, {}, "gnn")});
  Patient teacher(2);
  const auto answers =
      answers_of_teacher(log, "heuristic", [&](std::size_t) -> leyline::Controller& { return teacher; });
  CHECK(germinations_of(answers) == std::vector{false, true, true, true, false, true});
}

}  // namespace esper::test::teacher_test
