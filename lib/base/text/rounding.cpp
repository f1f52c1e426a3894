#include "base/text/rounding.h"

#include <cstdio>

namespace esper::base {

std::string digits(double value, int significant) {
  char text[32];
  std::snprintf(text, sizeof text, "%.*g", significant, value);
  return text;
}

}  // namespace esper::base
