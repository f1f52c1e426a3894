#pragma once
// Numbers as text: rounded figures of events and metrics, and floats in full. Any thread.

#include <chrono>
#include <string>

#include "base/clock.h"

namespace esper::base {

inline double milliseconds(Duration duration) { return std::chrono::duration<double, std::milli>(duration).count(); }

// Rounded to `significant` significant digits.
std::string format_significant(double value, int significant);

// The shortest text that is read back as the same number; and the number that JSON writes as briefly.
std::string shortest_text(float value);
double shortest_number(float value);

}  // namespace esper::base
