#pragma once
// The blend of one slot's seeds, as a configuration writes it. Any thread.

#include <optional>
#include <string>
#include <string_view>

#include "config/growth_config.h"

namespace esper::config {

struct SlotAlpha {
  static constexpr int kMostTicks = 1'000'000;
  static constexpr double kLeastTarget = 0.05;  // as growth.alpha_target
  std::string slot;
  AlphaCurve curve = AlphaCurve::kLinear;
  int ticks = 1;      // epochs, 1..kMostTicks
  double target = 1;  // kLeastTarget..1
};

// Of "r0c1=cosine,8,0.7"; nothing if the text is not of that form or a number is out of its range. Whether there is
// such a slot is not looked at.
std::optional<SlotAlpha> read_slot_alpha(std::string_view text);
// Which part of such a text is wrong, and what it may be; empty where none is.
std::string slot_alpha_problem(std::string_view text);

}  // namespace esper::config
