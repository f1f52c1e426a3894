#include "base/text/rounding.h"

#include <fmt/core.h>

namespace esper::base {

std::string format_significant(double value, int significant) { return fmt::format("{:.{}g}", value, significant); }

}  // namespace esper::base
