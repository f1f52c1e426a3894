#include "base/text/rounding.h"

#include <fmt/core.h>

namespace esper::base {

std::string digits(double value, int significant) { return fmt::format("{:.{}g}", value, significant); }

}  // namespace esper::base
