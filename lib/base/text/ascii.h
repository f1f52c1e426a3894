#pragma once
// Letters and digits of ASCII, whatever the locale. Any thread.

#include <string>
#include <string_view>

namespace esper::base {

// A letter, a digit, or one of `others`.
constexpr bool is_alphanumeric_or(char c, std::string_view others) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
         others.find(c) != std::string_view::npos;
}

// Other characters stay as they are.
inline std::string lower_case(std::string text) {
  for (char& c : text) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  return text;
}

}  // namespace esper::base
