#pragma once
// Figures as events and metrics tell them. Any thread.

#include <chrono>
#include <string>

#include "leyline/clock.h"

namespace esper::tolaria {

inline double milliseconds(leyline::Duration duration) {
  return std::chrono::duration<double, std::milli>(duration).count();
}

// Rounded to so many significant digits.
std::string digits(double value, int significant);

}  // namespace esper::tolaria
