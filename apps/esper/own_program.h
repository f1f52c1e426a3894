#pragma once
// For commands that start this program again.

#include <string>

namespace esper {

// This program's own file. Throws Error{kResources}.
std::string own_program();

}  // namespace esper
