#pragma once
// The one problem that a run file has.

#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <string>

#include "config/loading/load.h"

namespace esper::test {

// Of a text that has exactly one problem.
inline std::string problem_of(const std::string& text) {
  const config::LoadedConfig loaded = config::read_run_config_text(text, "f");
  REQUIRE(loaded.problems.size() == 1);
  return to_string(loaded.problems[0]);
}

struct ProblemCase {
  std::string text, expected;  // expected: how the only problem starts; empty: none
};

inline void check_problem(const ProblemCase& c) {
  CAPTURE(c.text);
  if (c.expected.empty()) {
    CHECK(config::read_run_config_text(c.text, "f").problems.empty());
  } else {
    CHECK_THAT(problem_of(c.text), Catch::Matchers::StartsWith(c.expected));
  }
}

}  // namespace esper::test
