#include "engine/bench/rounds.h"

#include <catch2/catch_test_macros.hpp>
#include <stdexcept>

namespace esper::test::rounds_test {

using namespace esper::engine::bench;

namespace {

// Steps that are said to take so long; notes when it is called.
Contender pretender(const std::string& name, double step_us, std::string& calls) {
  return {name, [=, &calls](int steps, std::vector<double>& out) {
            calls += name;
            out.insert(out.end(), static_cast<std::size_t>(steps), step_us);
          }};
}

}  // namespace

TEST_CASE("rows take turns at being first") {
  std::string calls;
  Plan plan;
  plan.rounds = 4;
  const auto rows = take_turns({pretender("a", 1e4, calls), pretender("b", 2e4, calls)}, plan);
  CHECK(calls ==
        "aabb"
        "ab"
        "ba"
        "ab"
        "ba");  // the pilots, then four rounds
  CHECK(rows[0].round_medians == std::vector<double>(4, 1e4));
  CHECK(ratio(rows[1], rows[0]).median == 2);
}

TEST_CASE("fast steps fill a round, slow ones are at least three") {
  std::string calls;
  Plan plan;
  plan.rounds = 2;
  plan.round_ms = 10;
  const auto rows = take_turns({pretender("f", 100, calls), pretender("s", 1e6, calls)}, plan);
  CHECK(rows[0].step_us.size() == 200);
  CHECK(rows[1].step_us.size() == 6);
}

TEST_CASE("a row that fails falls out with its reason, the others go on") {
  std::string calls;
  int left = 4;
  Contender failing = pretender("x", 1e4, calls);
  failing.run = [&, run = failing.run](int steps, std::vector<double>& out) {
    if (left-- == 0) throw std::runtime_error("it has exited");
    run(steps, out);
  };
  Plan plan;
  plan.rounds = 5;
  const auto rows = take_turns({failing, pretender("b", 1e4, calls)}, plan);
  CHECK(rows[0].failure == "it has exited");
  CHECK(rows[0].round_medians.size() == 2);
  CHECK(rows[1].failure.empty());
  CHECK(rows[1].round_medians.size() == 5);
}

}  // namespace esper::test::rounds_test
