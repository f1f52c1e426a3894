#pragma once
// The files of compile/worker/, as a zip archive that Python runs: part of the program.

#include <string_view>

namespace esper::program {

extern const std::string_view kWorkerSource;

}  // namespace esper::program
