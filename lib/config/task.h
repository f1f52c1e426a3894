#pragma once
#include <array>
#include <string_view>
#include <utility>

namespace esper::config {

// What the network is to say of a sample: one class of several, which of several labels apply, numbers, or the next
// token.
enum class Task { kClassification, kMultilabel, kRegression, kLanguage };
constexpr auto names(Task) {
  using T = Task;
  return std::array{std::pair{T::kClassification, "classification"}, std::pair{T::kMultilabel, "multilabel"},
                    std::pair{T::kRegression, "regression"}, std::pair{T::kLanguage, "language"}};
}

}  // namespace esper::config
