#pragma once
// Whether two forms of the policy network give the same answer.

#include <string>
#include <vector>

namespace esper::engine::bench {

// Throws Error{kBug} where a number differs by more than 1e-4, relative to those above 1, or is not a number. who: what
// has another answer, "folded at 8 nodes".
void check_answer(const std::string& who, const std::vector<float>& answer, const std::vector<float>& expected);

}  // namespace esper::engine::bench
