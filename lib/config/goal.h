#pragma once
// Whether more or less of a figure is better: how runs and configurations are ranked.

#include <array>
#include <utility>

namespace esper::config {

enum class Goal { kMaximize, kMinimize };
constexpr auto names(Goal) {
  return std::array{std::pair{Goal::kMaximize, "maximize"}, std::pair{Goal::kMinimize, "minimize"}};
}

}  // namespace esper::config
