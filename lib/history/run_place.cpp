#include "history/run_place.h"

#include <fmt/core.h>

#include <filesystem>
#include <system_error>
#include <utility>
#include <vector>

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

std::vector<std::string> folders_in(FileSystem& files, const std::string& folder) {
  std::vector<std::string> folders;
  for (const auto& entry : files.list(folder)) {
    if (entry.kind == PathKind::kFolder) folders.push_back(folder + "/" + entry.name);
  }
  return folders;
}

std::vector<std::string> readable_folders_in(FileSystem& files, const std::string& folder) {
  try {
    return folders_in(files, folder);
  } catch (const base::IoError&) {
    return {};
  }
}

struct FoundFolder {
  std::string path;
  int level;  // below the folder where the search begins
};

// One level after the other, so that a folder with much in it does not hide a run beside it. Empty: none.
std::string run_below(FileSystem& files, const std::string& path) {
  std::vector<FoundFolder> found{{path, 0}};
  std::size_t looked_at = 0;
  for (std::size_t i = 0; i < found.size(); ++i) {
    const FoundFolder outer = found[i];
    for (auto& folder : i == 0 ? folders_in(files, path) : readable_folders_in(files, outer.path)) {
      if (is_run(files, folder)) return folder;
      if (++looked_at == kMostFoldersBelow) return {};
      if (outer.level + 1 < kMostLevelsBelow) found.push_back({std::move(folder), outer.level + 1});
    }
  }
  return {};
}

}  // namespace

std::string why_within_run(FileSystem& files, const std::string& path) {
  std::error_code ignored;  // of a working folder that is gone, in which nothing can be made
  std::string below = std::filesystem::absolute(path, ignored).lexically_normal();
  for (auto above = storage::parent_of(below); above != below; above = storage::parent_of(above)) {
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
  const auto run = run_below(files, path);
  if (run.empty()) return {};
  return fmt::format("{} holds other runs, like {}; a run needs a folder of its own: choose another one with --run-dir",
                     path, run.substr(path.size() + 1));
}

}  // namespace esper::history
