#include "config/yaml/value_text.h"

#include <algorithm>

namespace esper::config {
namespace {

constexpr const char* kSpaces = " \t\r\n";

// Comments are among them.
std::size_t after_spaces(std::string_view text, std::size_t at) {
  while (at < text.size()) {
    at = std::min(text.find_first_not_of(kSpaces, at), text.size());
    if (!text.substr(at).starts_with('#')) break;
    at = std::min(text.find('\n', at), text.size());
  }
  return at;
}

}  // namespace

ValueStart value_start(std::string_view text, std::size_t at) {
  ValueStart found{at};
  while (found.at < text.size() && (text[found.at] == '&' || text[found.at] == '!')) {
    found.have_tag |= text[found.at] == '!';
    found.at = after_spaces(text, std::min(text.find_first_of(kSpaces, found.at), text.size()));
  }
  return found;
}

bool has_open_quote(std::string_view text, std::size_t at) {
  if (at >= text.size() || (text[at] != '"' && text[at] != '\'')) return false;
  const char quote = text[at];
  for (std::size_t i = at + 1; i < text.size() && text[i] != '\n'; ++i) {
    if (text[i] == '\\' && quote == '"') {
      if (text.substr(i + 1).starts_with('\n')) return true;
      ++i;
    } else if (text[i] == quote) {
      const bool doubled = quote == '\'' && i + 1 < text.size() && text[i + 1] == quote;
      if (!doubled) return false;
      ++i;
    }
  }
  return true;
}

}  // namespace esper::config
