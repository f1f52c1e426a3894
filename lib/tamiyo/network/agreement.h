#pragma once
// Whether two forms of a network decide alike: what a form with other rounding must show before it decides.

#include "tamiyo/network/policy_network.h"

namespace esper::tamiyo {

// A graph counts as the same where the highest of the action's, the blending method's, the risk's and the breaker's
// numbers, of the seeds' and of the blueprints' scores is that of the other form.
struct Agreement {
  int graphs = 0, same = 0;
  float largest_difference = 0;  // of all numbers, those above 1 relative; not a number where one is not
};

// kAgreementGraphs random graphs, of 8, 30 and 100 nodes in turn; some 1 s.
Agreement compare_decisions(PolicyNetwork& network, PolicyNetwork& other);

inline constexpr int kAgreementGraphs = 60;
// Rounding decides between two numbers that are nearly the same, which is no defect in so few.
inline constexpr int kMostOtherwise = 1;
inline constexpr float kMostDifference = 0.02F;

inline bool agree(const Agreement& found) {
  return found.graphs - found.same <= kMostOtherwise && found.largest_difference <= kMostDifference;
}

}  // namespace esper::tamiyo
