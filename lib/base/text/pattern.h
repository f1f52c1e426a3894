#pragma once
// Patterns of names, like "features.*.weight". Any thread.

#include <string_view>

namespace esper::base {

// Whether the whole text is what the pattern describes: '*' stands for any text, also none, dots included; every other
// character for itself.
bool fits_pattern(std::string_view text, std::string_view pattern);

}  // namespace esper::base
