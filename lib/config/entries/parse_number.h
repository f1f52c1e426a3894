#pragma once
// A number within an item of a list. Any thread.

#include <charconv>
#include <optional>
#include <string_view>
#include <system_error>

namespace esper::config {

// Nothing where the text is not one number and nothing else, or one that T cannot hold.
template <class T>
std::optional<T> parse_number(std::string_view text) {
  T number{};
  const auto [stop, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (text.empty() || error != std::errc{} || stop != text.data() + text.size()) return std::nullopt;
  return number;
}

}  // namespace esper::config
