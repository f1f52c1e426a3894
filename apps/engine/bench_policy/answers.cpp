#include "engine/bench_policy/answers.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>

#include "base/error.h"

namespace esper::engine::bench {
namespace {

double relative_difference(double a, double expected) {
  return std::abs(a - expected) / std::max(1.0, std::abs(expected));
}

}  // namespace

void check_answer(const std::string& who, const std::vector<float>& answer, const std::vector<float>& expected,
                  double tolerance) {
  if (answer.size() != expected.size()) {
    throw base::Error(base::ExitCode::kBug,
                      fmt::format("{}: {} numbers for {} of the eager network", who, answer.size(), expected.size()));
  }
  for (std::size_t i = 0; i < answer.size(); ++i) {
    if (relative_difference(answer[i], expected[i]) <= tolerance) continue;  // false for what is not a number
    throw base::Error(
        base::ExitCode::kBug,
        fmt::format("{}: number {} of the answer is {}, and {} of the eager network", who, i, answer[i], expected[i]));
  }
}

}  // namespace esper::engine::bench
