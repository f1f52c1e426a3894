#pragma once
// A text that is one number. Any thread.

#include <charconv>
#include <cmath>
#include <cstdlib>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <type_traits>

namespace esper::base {

// Nothing where the text is not one number and nothing else, or one that T cannot hold. The form is std::from_chars's:
// whole numbers in decimal digits, and of floating-point types "inf" and "nan", too. One that is too close to 0 for a
// floating-point type is 0.
template <class T>
std::optional<T> parse_number(std::string_view text) {
  T number{};
  const auto [stop, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (text.empty() || stop != text.data() + text.size()) return std::nullopt;
  if (error == std::errc{}) return number;
  if constexpr (std::is_floating_point_v<T>) {
    // from_chars() does not say which end of the range the number is beyond.
    const double rounded = std::strtod(std::string(text).c_str(), nullptr);
    if (std::abs(rounded) < 1) return static_cast<T>(rounded);
  }
  return std::nullopt;
}

}  // namespace esper::base
