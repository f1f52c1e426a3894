#pragma once
// The name that was probably meant by a misspelt one.

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace esper::base {

// Insertions, deletions, replacements and swaps of neighbours that turn one text into the other (optimal string
// alignment). Names of more than 64 bytes are cut.
int edit_distance(std::string_view a, std::string_view b);

// The closest of `known`, if it is close enough for a suggestion: at most a third of the letters differ.
std::optional<std::string> nearest(std::string_view name, const std::vector<std::string>& known);

}  // namespace esper::base
