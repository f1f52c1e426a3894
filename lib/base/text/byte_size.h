#pragma once
// Sizes in bytes as users write them: "0", "500MiB", "4GiB". Any thread.

#include <array>
#include <charconv>
#include <cstdint>
#include <optional>
#include <string_view>
#include <utility>

#include "base/text/digits_only.h"

namespace esper::base {

// A whole number and its unit: KiB, MiB, GiB or TiB; "0" needs none. Nothing for any other text.
inline std::optional<std::int64_t> parse_byte_size(std::string_view text) {
  constexpr std::array kUnits{std::pair{std::string_view("KiB"), 10}, std::pair{std::string_view("MiB"), 20},
                              std::pair{std::string_view("GiB"), 30}, std::pair{std::string_view("TiB"), 40}};
  constexpr std::size_t kMostDigits = 6;  // of TiB: still below 2^63
  if (text == "0") return 0;
  for (const auto& [unit, shift] : kUnits) {
    if (!text.ends_with(unit)) continue;
    const std::string_view digits = text.substr(0, text.size() - unit.size());
    if (digits.size() > kMostDigits || !digits_only(digits)) return std::nullopt;
    std::int64_t count = 0;
    std::from_chars(digits.data(), digits.data() + digits.size(), count);
    return count << shift;
  }
  return std::nullopt;
}

}  // namespace esper::base
