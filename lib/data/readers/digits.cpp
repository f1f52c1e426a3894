#include "data/readers/digits.h"

#include <array>

#include "base/error.h"

namespace esper::data {
namespace fs = std::filesystem;

fs::path find_digits() {
  std::error_code ignored;
  const auto binary = fs::read_symlink("/proc/self/exe", ignored);
  const fs::path name = fs::path("digits") / "digits.csv.gz";
  const std::array tried{binary.parent_path() / ".." / "share" / "esper" / "data" / name,
                         fs::path(ESPER_DATA_DIR) / name, fs::current_path(ignored) / "data" / name};
  std::string list;
  for (const auto& candidate : tried) {
    if (fs::is_regular_file(candidate, ignored)) return candidate;
    list += "\n  " + candidate.string();
  }
  throw base::Error(base::ExitCode::kData, "the bundled digits were not found; set data.path. Tried:" + list);
}

}  // namespace esper::data
