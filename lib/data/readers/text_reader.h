#pragma once
#include <filesystem>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>

#include "data/files/input_error.h"
#include "data/files/raw_samples.h"

namespace esper::data {

// A text as characters: UTF-8 code points. A byte that is no valid UTF-8 is a bad sample (skipped alone). Throws
// Error{kData}.
std::u32string read_text(const std::filesystem::path& file, const ReadOptions& options, BadSamples& bad);

// The distinct characters of all texts, ascending; a character's place is its token.
std::u32string vocabulary_of(std::initializer_list<std::u32string_view> texts);

// The characters of a text in UTF-8; nothing where it is none.
std::optional<std::u32string> characters_of(std::string_view text);

// One character as UTF-8.
std::string to_utf8(char32_t character);

}  // namespace esper::data
