#pragma once
// Values of one parameter, drawn at random or counted. Any thread.

#include <cstdint>
#include <optional>
#include <string>

#include "sweep/sweep.h"

namespace esper::sweep {

// The draw with the number `counter` of the sweep with `seed`: another parameter, counter or seed has another one,
// independent of it. A text as a run file has it. Real numbers have six significant digits.
std::string draw_value(const Parameter& parameter, std::uint64_t seed, std::uint64_t counter);

// How many values it can have; nothing for real numbers.
std::optional<std::uint64_t> num_values(const Parameter& parameter);
// The value with that index, below num_values().
std::string value_at(const Parameter& parameter, std::uint64_t index);

// base to the power of `exponent`, from 0 to 1, in operations that IEEE 754 rounds alike on every machine; pow() is
// not. base > 0.
double power(double base, double exponent);

}  // namespace esper::sweep
