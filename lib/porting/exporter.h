#pragma once
// exporter.py, the program that writes and checks what PyTorch makes of a network: its file says what it takes and
// answers. Any thread.

#include <string_view>

namespace esper::porting {

std::string_view exporter_program();

// A difference above it is no rounding: a share of the largest output, or of 1 where that is less.
inline constexpr double kMostDifference = 1e-5;

}  // namespace esper::porting
