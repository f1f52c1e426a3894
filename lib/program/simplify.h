#pragma once
// Leaves out of a program what nobody needs. Any thread.

#include "program/program.h"

namespace esper::program {

// The same program without operations whose results nothing uses, and without inputs that nothing touches. Operations
// that write, and those that draw random numbers, stay: both are seen from outside.
Program simplify(const Program& program);

}  // namespace esper::program
