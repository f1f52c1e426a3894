#pragma once
// Whether a text is nothing but digits, at least one. Any thread.

#include <string_view>

namespace esper::base {

inline bool digits_only(std::string_view text) {
  return !text.empty() && text.find_first_not_of("0123456789") == std::string_view::npos;
}

}  // namespace esper::base
