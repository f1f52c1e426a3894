#include "data/readers/text_reader.h"

#include <algorithm>
#include <cstdint>
#include <string_view>

#include "base/text/utf8.h"
#include "data/files/byte_file.h"
#include "data/files/memory_need.h"

namespace esper::data {
namespace {

// The code point of a well-formed sequence.
char32_t decode(std::string_view sequence) {
  const auto lead = static_cast<std::uint8_t>(sequence[0]);
  if (sequence.size() == 1) return lead;
  char32_t character = lead & (0xffu >> (sequence.size() + 1));
  for (const char byte : sequence.substr(1)) character = character << 6 | (static_cast<std::uint8_t>(byte) & 0x3fu);
  return character;
}

bool begins_character(char byte) { return (static_cast<std::uint8_t>(byte) & 0xc0u) != 0x80u; }

}  // namespace

std::u32string read_text(const std::filesystem::path& file, const ReadOptions& options, BadSamples& bad) {
  const auto bytes = read_bytes(file, options);
  const std::string_view rest(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  refuse_utf16(file, rest);
  std::u32string text;
  const auto characters = static_cast<std::size_t>(std::count_if(rest.begin(), rest.end(), begins_character));
  require_memory(file, "its characters", static_cast<std::int64_t>(characters * sizeof(char32_t)), options);
  text.reserve(characters);
  for (std::size_t at = 0; at < rest.size();) {
    const int length = base::utf8_length(rest.substr(at));
    if (length < 0) {
      bad.report(file, at_byte(static_cast<std::int64_t>(at)), "is not valid UTF-8");
      ++at;
      continue;
    }
    text.push_back(decode(rest.substr(at, static_cast<std::size_t>(length))));
    at += static_cast<std::size_t>(length);
  }
  return text;
}

std::optional<std::u32string> characters_of(std::string_view text) {
  std::u32string characters;
  while (!text.empty()) {
    const int length = base::utf8_length(text);
    if (length < 0) return std::nullopt;
    characters.push_back(decode(text.substr(0, static_cast<std::size_t>(length))));
    text.remove_prefix(static_cast<std::size_t>(length));
  }
  return characters;
}

std::u32string vocabulary_of(std::initializer_list<std::u32string_view> texts) {
  std::vector<bool> seen(0x110000);
  for (const auto text : texts) {
    for (const auto character : text) seen[character] = true;
  }
  std::u32string vocabulary;
  for (char32_t c = 0; c < seen.size(); ++c) {
    if (seen[c]) vocabulary.push_back(c);
  }
  return vocabulary;
}

std::string to_utf8(char32_t c) {
  const auto tail = [&](int shift) { return static_cast<char>(0x80 | (c >> shift & 0x3f)); };
  if (c < 0x80) return {static_cast<char>(c)};
  if (c < 0x800) return {static_cast<char>(0xc0 | c >> 6), tail(0)};
  if (c < 0x10000) return {static_cast<char>(0xe0 | c >> 12), tail(6), tail(0)};
  return {static_cast<char>(0xf0 | c >> 18), tail(12), tail(6), tail(0)};
}

}  // namespace esper::data
