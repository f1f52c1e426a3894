#pragma once
// Quantities with units, as users write them: durations ("2s", "5ms", "1h") and lengths of training ("3 epochs", "200
// steps").

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace esper::base {

using Duration = std::chrono::nanoseconds;

// No run takes longer: a file that records a longer time is damaged.
inline constexpr std::chrono::duration<double> kLongestTime = std::chrono::years(100);

// "500us", "5ms", "2s", "1.5m", "1h"; nothing if the unit is missing or unknown, or the value is negative or not
// finite.
std::optional<Duration> parse_duration(std::string_view text);
// The shortest exact form, in the largest unit that keeps it a whole number.
std::string to_string(Duration duration);

// An amount of training. Zero means never.
struct Length {
  enum class Unit { kEpochs, kSteps };
  std::int64_t count = 0;
  Unit unit = Unit::kEpochs;
  bool operator==(const Length&) const = default;
};

// "1 epoch" or "epoch", "3 epochs", "200 steps", "0 steps"; a blank between number and unit is required.
std::optional<Length> parse_length(std::string_view text);
std::string to_string(const Length& length);

}  // namespace esper::base
