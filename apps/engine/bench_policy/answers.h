#pragma once
// Whether two forms of the policy network give the same answer.

#include <string>
#include <vector>

namespace esper::engine::bench {

inline constexpr double kAnswerTolerance = 1e-4;  // sums in another order

// Throws Error{kBug} where a number differs by more than `tolerance`, relative to those above 1, or is not a number.
// who: what has another answer, "folded at 8 nodes".
void check_answer(const std::string& who, const std::vector<float>& answer, const std::vector<float>& expected,
                  double tolerance = kAnswerTolerance);

}  // namespace esper::engine::bench
