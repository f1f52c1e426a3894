#pragma once
// Tables as text. Any thread.

#include <string>
#include <vector>

namespace esper::base {

// Lines of cells, as many in each; columns are two blanks apart, the last one is not filled up. A cell is as wide as it
// has characters.
std::string aligned(const std::vector<std::vector<std::string>>& lines);

}  // namespace esper::base
