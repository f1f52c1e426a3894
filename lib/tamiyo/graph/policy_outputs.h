#pragma once
// What the policy network computes of one graph. Plain data. Any thread.

#include <array>
#include <vector>

namespace esper::tamiyo {

inline constexpr int kPolicyActions = 32;
inline constexpr int kPolicyParams = 4;
inline constexpr int kBlendingMethods = 3;
inline constexpr int kScheduleParams = 2;
inline constexpr int kRiskLevels = 5;
inline constexpr int kBreakerStates = 2;

struct PolicyOutputs {
  std::array<float, kPolicyActions> policy_logits{};
  std::array<float, kPolicyParams> policy_params{};
  std::array<float, kBlendingMethods> blending_logits{};
  std::array<float, kScheduleParams> schedule{};  // start <= end, in [0, 1]
  std::array<float, kRiskLevels> risk_logits{};
  float value = 0;
  std::array<float, kBreakerStates> breaker_logits{};
  std::vector<float> seed_scores, blueprint_scores;  // one a node, padding removed
};

}  // namespace esper::tamiyo
