#include "base/text/printable.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdlib>
#include <utility>

#include "base/text/utf8.h"

namespace esper::base {
namespace {

// Inclusive ranges of code points above ASCII.
constexpr std::array<std::pair<std::uint32_t, std::uint32_t>, 6> kSteering{{
    {0x80, 0x9F},      // C1
    {0x061C, 0x061C},  // Arabic letter mark
    {0x200E, 0x200F},  // left-to-right and right-to-left mark
    {0x2028, 0x2029},  // line and paragraph separator
    {0x202A, 0x202E},  // embeddings and overrides
    {0x2066, 0x2069},  // isolates
}};

std::uint32_t code_point(std::string_view sequence) {
  const auto byte = [&](std::size_t i) { return static_cast<std::uint32_t>(static_cast<std::uint8_t>(sequence[i])); };
  if (sequence.size() == 1) return byte(0);
  std::uint32_t value = byte(0) & (0xFFu >> (sequence.size() + 1));
  for (std::size_t i = 1; i < sequence.size(); ++i) value = value << 6 | (byte(i) & 0x3F);
  return value;
}

bool is_steering_code(std::uint32_t code) {
  if (code < 0x80) return code < 0x20 || code == 0x7F;
  return std::ranges::any_of(kSteering, [&](auto& range) { return code >= range.first && code <= range.second; });
}

void append_escape(std::uint32_t code, std::string& out) {
  switch (code) {
    case '\n':
      out += "\\n";
      return;
    case '\r':
      out += "\\r";
      return;
    case '\t':
      out += "\\t";
      return;
    default:
      out += code < 0x80 ? fmt::format("\\x{:02x}", code) : fmt::format("\\u{:04x}", code);
  }
}

// stays: whether a character, of well-formed UTF-8, is written as it is.
std::string escaped(std::string_view text, bool (*stays)(std::string_view character)) {
  std::string out;
  out.reserve(text.size());
  while (!text.empty()) {
    const int length = utf8_length(text);
    const auto sequence = text.substr(0, static_cast<std::size_t>(std::abs(length)));
    if (length < 0) {
      for (const char byte : sequence) out += fmt::format("\\x{:02x}", static_cast<std::uint8_t>(byte));
    } else if (stays(sequence)) {
      out += sequence;
    } else {
      append_escape(code_point(sequence), out);
    }
    text.remove_prefix(sequence.size());
  }
  return out;
}

}  // namespace

bool is_steering(std::string_view text) {
  return is_steering_code(code_point(text.substr(0, static_cast<std::size_t>(utf8_length(text)))));
}

std::string printable(std::string_view text) {
  return escaped(text, [](std::string_view character) {
    return character == "\n" || character == "\t" || !is_steering(character);
  });
}

std::string printable_line(std::string_view text) {
  return escaped(text, [](std::string_view character) { return !is_steering(character); });
}

std::string utf8_text(std::string_view text) {
  return escaped(text, [](std::string_view) { return true; });
}

std::string shortened(std::string_view text, std::size_t most) {
  std::size_t end = 0;
  for (std::size_t i = 0; i < most && end < text.size(); ++i) {
    end += static_cast<std::size_t>(std::abs(utf8_length(text.substr(end))));
  }
  return std::string(text.substr(0, end)) + (end < text.size() ? "..." : "");
}

std::string in_quotes(std::string_view text) { return "\"" + shortened(text) + "\""; }

std::string printable_json(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  while (!text.empty()) {
    const auto sequence = text.substr(0, static_cast<std::size_t>(std::abs(utf8_length(text))));
    const std::uint32_t code = code_point(sequence);
    // Below a blank only what lays the text out is valid JSON outside of an escape.
    if (code >= 0x20 && is_steering_code(code)) {
      out += fmt::format("\\u{:04x}", code);
    } else {
      out += sequence;
    }
    text.remove_prefix(sequence.size());
  }
  return out;
}

}  // namespace esper::base
