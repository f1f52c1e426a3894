#pragma once
// Conversion between an enum and its names, for enums with `constexpr auto names(E)` beside them.

#include <optional>
#include <string>
#include <string_view>
#include <type_traits>

namespace esper::base {

template <class E>
concept Named = std::is_enum_v<E> && requires(E value) { names(value); };

// Empty for a value outside the table.
template <Named E>
constexpr std::string_view name_of(E value) {
  for (const auto& [known, name] : names(value)) {
    if (known == value) return name;
  }
  return {};
}

template <Named E>
constexpr std::optional<E> from_name(std::string_view text) {
  for (const auto& [known, name] : names(E{})) {
    if (text == name) return known;
  }
  return std::nullopt;
}

// "auto, fp32, bf16"
template <Named E>
std::string all_names() {
  std::string text;
  for (const auto& [known, name] : names(E{})) {
    if (!text.empty()) text += ", ";
    text += name;
  }
  return text;
}

}  // namespace esper::base
