#pragma once
#include <cstddef>
#include <optional>
#include <string_view>

namespace esper::base {

// Bytes of the well-formed UTF-8 sequence at the front of text, 1 to 4 (overlong forms, surrogates and what is above
// U+10FFFF are none). Where there is none, the length of the ill-formed part, negative: what the Unicode standard calls
// its maximal subpart. Table 3-7 of the standard. An empty text counts as one byte. Any thread.
int utf8_length(std::string_view text);

struct ControlCharacter {
  std::size_t offset;   // in bytes
  char32_t code_point;  // below U+0020, or U+007F to U+009F
};
// The first control character of a well-formed UTF-8 text. Any thread.
std::optional<ControlCharacter> first_control_character(std::string_view text);

}  // namespace esper::base
