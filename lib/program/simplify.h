#pragma once
// Removes unused operations and inputs from a program. Any thread.

#include "program/program.h"

namespace esper::program {

// The same program without operations whose results nothing uses, and without inputs that nothing touches. Operations
// that write, and those that draw random numbers, stay: both are seen from outside.
Program simplify(const Program& program);

}  // namespace esper::program
