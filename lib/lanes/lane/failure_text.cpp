#include "lanes/lane/failure_text.h"

#include <c10/util/Exception.h>

#include "device/out_of_memory.h"

namespace esper::lanes {

std::string describe(const std::exception& error) {
  if (std::string lack = device::out_of_memory_message(error); !lack.empty()) return lack;
  const auto* of_torch = dynamic_cast<const c10::Error*>(&error);
  return of_torch != nullptr ? of_torch->what_without_backtrace() : error.what();
}

}  // namespace esper::lanes
