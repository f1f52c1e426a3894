#pragma once
// Lists as text: "a, b, c". Any thread.

#include <concepts>
#include <functional>
#include <ranges>
#include <string>
#include <string_view>
#include <utility>

namespace esper::base {

// `text_of` makes a text or a whole number of each item; left out, the items are such themselves.
template <std::ranges::input_range Items, class TextOf = std::identity>
std::string joined(Items&& items, std::string_view separator = ", ", TextOf text_of = {}) {
  std::string text;
  bool is_first = true;
  for (auto&& item : items) {
    if (!std::exchange(is_first, false)) text += separator;
    decltype(auto) part = std::invoke(text_of, item);
    if constexpr (std::integral<std::decay_t<decltype(part)>>) {
      text += std::to_string(part);
    } else {
      text += part;
    }
  }
  return text;
}

}  // namespace esper::base
