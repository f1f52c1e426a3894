#include "base/text/rounding.h"

#include <fmt/core.h>

#include <cstdlib>

namespace esper::base {

std::string format_significant(double value, int significant) { return fmt::format("{:.{}g}", value, significant); }

std::string shortest_text(float value) { return fmt::format("{}", value); }

double shortest_number(float value) { return std::strtod(shortest_text(value).c_str(), nullptr); }

}  // namespace esper::base
