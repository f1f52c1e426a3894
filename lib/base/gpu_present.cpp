#include "base/gpu_present.h"

#include <filesystem>
#include <system_error>

namespace esper::base {

bool gpu_present(const std::string& root) {
  std::error_code ignored;
  for (const char* file : {"/dev/nvidiactl", "/dev/dxg"}) {
    if (std::filesystem::exists(root + file, ignored)) return true;
  }
  return false;
}

}  // namespace esper::base
