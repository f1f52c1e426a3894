#pragma once
// A text that is one number. Any thread.

#include <charconv>
#include <optional>
#include <string_view>
#include <system_error>

namespace esper::base {

// Nothing where the text is not one number and nothing else, or one that T cannot hold. The form is std::from_chars's:
// whole numbers in decimal digits, and of floating-point types "inf" and "nan", too.
template <class T>
std::optional<T> parse_number(std::string_view text) {
  T number{};
  const auto [stop, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (text.empty() || error != std::errc{} || stop != text.data() + text.size()) return std::nullopt;
  return number;
}

}  // namespace esper::base
