#pragma once
// What the parser does not say about a value, read from the text: its tag, and whether its quotes are closed.

#include <cstddef>
#include <string_view>

namespace esper::config {

// Where the value begins whose tag and anchor are at `at`, and whether there is a tag.
struct ValueStart {
  std::size_t at = 0;
  bool have_tag = false;
};
ValueStart value_start(std::string_view text, std::size_t at);

// Whether the value that begins at `at` is quoted text which does not end in its line.
bool has_open_quote(std::string_view text, std::size_t at);

}  // namespace esper::config
