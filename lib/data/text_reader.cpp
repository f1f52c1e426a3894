#include "data/text_reader.h"

#include <algorithm>

#include "data/byte_file.h"

namespace esper::data {
namespace {

// Length of the valid UTF-8 sequence at `at` and its code point; 0 if there is none (RFC 3629: no overlong forms, no
// surrogates, nothing above U+10FFFF).
int decode(const Bytes& bytes, std::size_t at, char32_t& character) {
  const std::uint8_t lead = bytes[at];
  const int length = lead < 0x80                   ? 1
                     : lead >= 0xc2 && lead < 0xe0 ? 2
                     : lead >= 0xe0 && lead < 0xf0 ? 3
                     : lead >= 0xf0 && lead < 0xf5 ? 4
                                                   : 0;
  if (length == 0 || bytes.size() - at < static_cast<std::size_t>(length)) return 0;
  if (length == 1) {
    character = lead;
    return 1;
  }
  character = lead & (0xffu >> (length + 1));
  for (int i = 1; i < length; ++i) {
    const std::uint8_t byte = bytes[at + static_cast<std::size_t>(i)];
    if ((byte & 0xc0) != 0x80) return 0;
    character = character << 6 | (byte & 0x3fu);
  }
  const bool overlong = (length == 3 && character < 0x800) || (length == 4 && character < 0x10000);
  const bool surrogate = character >= 0xd800 && character < 0xe000;
  return overlong || surrogate || character > 0x10ffff ? 0 : length;
}

}  // namespace

std::u32string read_text(const std::filesystem::path& file, const ReadOptions& options, BadSamples& bad) {
  const auto bytes = read_bytes(file, options);
  std::u32string text;
  text.reserve(bytes.size());
  for (std::size_t at = 0; at < bytes.size();) {
    char32_t character = 0;
    const int length = decode(bytes, at, character);
    if (length == 0) {
      bad.report(file, at_byte(static_cast<std::int64_t>(at)), "is not valid UTF-8");
      ++at;
      continue;
    }
    text.push_back(character);
    at += static_cast<std::size_t>(length);
  }
  return text;
}

std::u32string vocabulary_of(const std::u32string& text) {
  std::vector<bool> seen(0x110000);
  for (const auto character : text) seen[character] = true;
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
