#pragma once
// Rounding of figures in events and metrics. Any thread.

#include <chrono>
#include <string>

#include "base/clock.h"

namespace esper::base {

inline double milliseconds(Duration duration) { return std::chrono::duration<double, std::milli>(duration).count(); }

// Rounded to `significant` significant digits.
std::string format_significant(double value, int significant);

}  // namespace esper::base
