#pragma once
// Text from files, users and other programs, made fit for a terminal. Any thread.

#include <string>
#include <string_view>

namespace esper::base {

// What can steer a terminal or forge what it shows is written as an escape: control characters of C0 and DEL as "\x1b",
// those of C1, line separators and the controls of writing direction as "\u009b", bytes that are no UTF-8 as "\xff".
// Newlines and tabs stay as they are. Everything else is returned unchanged, backslashes too.
std::string printable(std::string_view text);

// The same for what belongs on one line: newline, carriage return and tab become "\n", "\r" and "\t".
std::string printable_line(std::string_view text);

// Bytes that are no UTF-8 become "\xff"; everything else is returned unchanged. For names in JSON and in source text,
// which hold UTF-8 alone: with U+FFFD for each of these bytes different names would be equal.
std::string utf8_text(std::string_view text);

// What can steer a terminal inside the strings of a JSON text, as \u escapes: the value stays the same. `json` is
// valid.
std::string printable_json(std::string_view json);

// For messages: the first `most` characters, and "..." where more follow.
std::string shortened(std::string_view text, std::size_t most = 60);

// The same in double quotes.
std::string in_quotes(std::string_view text);

// Whether the UTF-8 sequence at the front of `text` (utf8_length() is positive) is one of those above; newline and tab
// count as well.
bool is_steering(std::string_view text);

}  // namespace esper::base
