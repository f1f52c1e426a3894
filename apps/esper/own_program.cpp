#include "esper/own_program.h"

#include <filesystem>
#include <system_error>

#include "base/error.h"

namespace esper {

std::string own_program() {
  std::error_code failed;
  const auto path = std::filesystem::read_symlink("/proc/self/exe", failed);
  if (failed) throw base::Error(base::ExitCode::kResources, "cannot find this program's own file: " + failed.message());
  return path.string();
}

}  // namespace esper
