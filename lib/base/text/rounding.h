#pragma once
// Figures as events and metrics tell them. Any thread.

#include <chrono>
#include <string>

#include "base/clock.h"

namespace esper::base {

inline double milliseconds(Duration duration) { return std::chrono::duration<double, std::milli>(duration).count(); }

// Rounded to so many significant digits.
std::string digits(double value, int significant);

}  // namespace esper::base
