#include "base/text/pattern.h"

namespace esper::base {

// The last star takes as little as it can and is given one character more where the rest does not fit: no recursion,
// and at most text.size() * pattern.size() comparisons.
bool fits_pattern(std::string_view text, std::string_view pattern) {
  std::size_t at = 0, want = 0, star = std::string_view::npos, taken = 0;
  while (at < text.size()) {
    if (want < pattern.size() && pattern[want] == '*') {
      star = want++;
      taken = at;
    } else if (want < pattern.size() && pattern[want] == text[at]) {
      ++want, ++at;
    } else if (star != std::string_view::npos) {
      want = star + 1;
      at = ++taken;
    } else {
      return false;
    }
  }
  return pattern.substr(want).find_first_not_of('*') == std::string_view::npos;
}

}  // namespace esper::base
