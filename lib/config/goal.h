#pragma once
// Which way a figure is wanted: how runs and configurations are ranked.

#include <array>
#include <utility>

namespace esper::config {

enum class Goal { kMaximize, kMinimize };
constexpr auto names(Goal) {
  return std::array{std::pair{Goal::kMaximize, "maximize"}, std::pair{Goal::kMinimize, "minimize"}};
}

}  // namespace esper::config
