#include "history/run_place.h"

#include <fmt/core.h>

#include "history/run_config.h"
#include "storage/file_tools.h"

namespace esper::history {
namespace {

using base::FileSystem;
using base::PathKind;

// Other programs' projects have config.yaml and checkpoints/, too.
bool is_run(FileSystem& files, const std::string& folder) {
  try {
    return files.kind_of(folder + "/" + kRunConfigFile) == PathKind::kFile &&
           files.kind_of(folder + "/lock") == PathKind::kFile;
  } catch (const base::IoError&) {  // a link, or a folder that cannot be read
    return false;
  }
}

}  // namespace

std::string why_within_run(FileSystem& files, const std::string& path) {
  std::string below = path;
  for (auto above = storage::parent_of(path); above != below; above = storage::parent_of(above)) {
    below = above;
    if (!is_run(files, above)) continue;
    return fmt::format(
        "{} lies within the run {}; a run needs a folder of its own: choose another place with --run-dir or runs_dir",
        path, above);
  }
  return {};
}

std::string why_holds_runs(FileSystem& files, const std::string& path) {
  if (files.kind_of(path) != PathKind::kFolder) return {};
  for (const auto& entry : files.list(path)) {
    if (entry.kind != PathKind::kFolder || !is_run(files, path + "/" + entry.name)) continue;
    return fmt::format(
        "{} holds other runs, like {}; a run needs a folder of its own: choose another one with --run-dir", path,
        entry.name);
  }
  return {};
}

}  // namespace esper::history
