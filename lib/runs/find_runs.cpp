#include "runs/find_runs.h"

#include <fmt/core.h>

#include <algorithm>
#include <filesystem>
#include <set>

#include "storage/folder_walk.h"

namespace esper::runs {
namespace {

namespace fs = std::filesystem;

bool is_there(const std::string& path, fs::file_type type) {
  std::error_code ignored;
  return fs::symlink_status(path, ignored).type() == type;
}

class Search {
 public:
  explicit Search(FoundRuns& found) : found_(found) {}

  void enter_root(std::string root) {
    while (root.size() > 1 && root.back() == '/') root.pop_back();
    std::error_code error;
    const auto whole = fs::canonical(root, error);
    if (error) return report(root, error.message());
    root_ = root;
    whole_ = whole.string();
    enter("", 0);
  }

 private:
  // below: "" for the root, else "/NAME/NAME".
  void enter(const std::string& below, int depth) {
    if (!seen_.insert(whole_ + below).second) return;
    const std::string folder = root_ + below;
    if (is_run_folder(folder)) return found_.folders.push_back(folder);
    if (depth == kMostDepth) return;
    if (++searched_ > kMostFolders) return report_too_many();
    for (const auto& name : folders_in(folder)) enter(std::string(below).append("/").append(name), depth + 1);
  }

  std::vector<std::string> folders_in(const std::string& folder) {
    std::vector<std::string> names;
    try {
      const auto walk = storage::walk_folder(folder, {.depth = 1, .folder_times = false});
      if (!walk.incomplete.empty()) report(folder, walk.incomplete);
      for (const auto& entry : walk.entries) {
        if (entry.kind == base::PathKind::kFolder) names.push_back(entry.path);
      }
    } catch (const base::IoError& error) {
      found_.problems.push_back(error.what());
    }
    return names;
  }

  void report(const std::string& path, const std::string& why) { found_.problems.push_back(path + ": " + why); }
  void report_too_many() {
    if (searched_ == kMostFolders + 1) report(root_, fmt::format("only {} folders were searched", kMostFolders));
  }

  FoundRuns& found_;
  std::set<std::string> seen_;  // canonical
  std::string root_, whole_;
  std::size_t searched_ = 0;
};

}  // namespace

bool is_run_folder(const std::string& folder) {
  using enum fs::file_type;
  const bool has_lock = is_there(folder + "/lock", regular);
  const bool has_config = is_there(folder + "/config.yaml", regular);
  if (has_lock && has_config) return true;
  if (!has_lock && !has_config) return false;
  if (is_there(folder + "/checkpoints", directory) || is_there(folder + "/journal", regular)) return true;
  return has_config && is_there(folder + "/summary.json", regular);
}

FoundRuns find_runs(const std::vector<std::string>& roots) {
  FoundRuns found;
  Search search(found);
  for (const auto& root : roots) search.enter_root(root);
  std::ranges::sort(found.folders);
  return found;
}

}  // namespace esper::runs
