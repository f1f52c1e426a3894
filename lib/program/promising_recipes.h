#pragma once
// Which of the compile worker's recipes may suit a program, as they were measured. Any thread.

#include <string>
#include <vector>

#include "program/program.h"

namespace esper::program {

// Recipes (compile/worker/recipes.py), the most promising first; at least one. `device` and `instruction_set`: as in
// KeyParts.
std::vector<std::string> promising_recipes(const Program& program, const std::string& device,
                                           const std::string& instruction_set);

}  // namespace esper::program
