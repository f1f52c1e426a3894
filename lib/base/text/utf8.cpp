#include "base/text/utf8.h"

#include <cstddef>
#include <cstdint>

namespace esper::base {

int utf8_length(std::string_view text) {
  const auto byte = [&](int n) {
    const auto at = static_cast<std::size_t>(n);
    return at < text.size() ? static_cast<std::uint8_t>(text[at]) : std::uint8_t{0};
  };
  const auto lead = byte(0);
  int length = 0;
  int low = 0x80, high = 0xBF;  // what the second byte may be
  if (lead < 0x80) return 1;
  if (lead >= 0xC2 && lead <= 0xDF) length = 2;
  if (lead >= 0xE0 && lead <= 0xEF) length = 3;
  if (lead >= 0xF0 && lead <= 0xF4) length = 4;
  if (lead == 0xE0) low = 0xA0;
  if (lead == 0xED) high = 0x9F;
  if (lead == 0xF0) low = 0x90;
  if (lead == 0xF4) high = 0x8F;
  if (length == 0) return -1;
  for (int n = 1; n < length; ++n) {
    if (byte(n) < low || byte(n) > high) return -n;
    low = 0x80;
    high = 0xBF;
  }
  return length;
}

std::optional<ControlCharacter> first_control_character(std::string_view text) {
  for (std::size_t i = 0; i < text.size(); ++i) {
    const auto byte = static_cast<std::uint8_t>(text[i]);
    if (byte < 0x20 || byte == 0x7F) return ControlCharacter{i, byte};
    const auto next = i + 1 < text.size() ? static_cast<std::uint8_t>(text[i + 1]) : std::uint8_t{0};
    if (byte == 0xC2 && next >= 0x80 && next < 0xA0) return ControlCharacter{i, next};
  }
  return std::nullopt;
}

}  // namespace esper::base
