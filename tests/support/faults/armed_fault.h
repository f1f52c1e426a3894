#pragma once
// Arms a fault point for a scope; at its end nothing is armed any more.

#include <cstdint>
#include <string_view>

#include "base/fault.h"

namespace esper::test {

class ArmedFault {
 public:
  explicit ArmedFault(std::string_view point, std::uint64_t nth = 1, std::uint64_t times = 1) {
    base::fault::arm(point, nth, times);
  }
  ~ArmedFault() { base::fault::disarm_all(); }
  ArmedFault(const ArmedFault&) = delete;
  ArmedFault& operator=(const ArmedFault&) = delete;
};

}  // namespace esper::test
