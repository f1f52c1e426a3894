#include "device/out_of_memory.h"

#include <c10/util/Exception.h>

#include <new>

namespace esper::device {

std::string lack_of_memory(const std::exception& error) {
  if (dynamic_cast<const std::bad_alloc*>(&error) != nullptr) return "out of memory";
  const auto* of_torch = dynamic_cast<const c10::Error*>(&error);
  if (of_torch == nullptr) return {};
  const std::string text = of_torch->what_without_backtrace();
  const bool of_card = dynamic_cast<const c10::OutOfMemoryError*>(&error) != nullptr;
  const bool of_host = text.find("allocate memory") != std::string::npos;
  if (!of_card && !of_host) return {};
  return "out of memory: " + text.substr(0, text.find('\n'));
}

}  // namespace esper::device
