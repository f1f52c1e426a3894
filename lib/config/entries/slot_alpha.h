#pragma once
// The blend of one slot's seeds, as a configuration writes it. Any thread.

#include <array>
#include <string>
#include <string_view>
#include <utility>

#include "base/expected.h"

namespace esper::config {

enum class AlphaCurve { kLinear, kCosine, kSigmoid };
constexpr auto names(AlphaCurve) {
  using C = AlphaCurve;
  return std::array{std::pair{C::kLinear, "linear"}, std::pair{C::kCosine, "cosine"},
                    std::pair{C::kSigmoid, "sigmoid"}};
}

struct SlotAlpha {
  static constexpr int kMostTicks = 1'000'000;
  static constexpr double kLeastTarget = 0.05;  // as growth.alpha_target
  std::string slot;
  AlphaCurve curve = AlphaCurve::kLinear;
  int ticks = 1;      // epochs, 1..kMostTicks
  double target = 1;  // kLeastTarget..1

  // Of "r0c1=cosine,8,0.7". Whether there is such a slot is ignored.
  static base::Expected<SlotAlpha> parse(std::string_view text);
};

}  // namespace esper::config
