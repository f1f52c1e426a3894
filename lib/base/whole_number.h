#pragma once
// A floating-point number as a whole one. Any thread.

#include <cmath>
#include <concepts>
#include <limits>
#include <optional>

namespace esper::base {

// Nothing where the value is no whole number, or none that Whole holds: to cast such a value is undefined.
template <std::integral Whole>
std::optional<Whole> whole_number(double value) {
  using Limits = std::numeric_limits<Whole>;
  const double too_large = std::ldexp(1.0, Limits::digits), least = Limits::is_signed ? -too_large : 0;
  const bool holds = value >= least && value < too_large && value == std::trunc(value);
  return holds ? std::optional(static_cast<Whole>(value)) : std::nullopt;
}

}  // namespace esper::base
