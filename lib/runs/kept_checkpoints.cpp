#include "runs/kept_checkpoints.h"

#include <filesystem>
#include <set>

#include "history/growth/checkpoint_list.h"
#include "storage/confined_file_system.h"
#include "storage/folder_walk.h"

namespace esper::runs {
namespace {

namespace fs = std::filesystem;

constexpr char kFolder[] = "checkpoints";

fs::path whole_path(const std::string& path) {
  std::error_code ignored;
  auto whole = fs::weakly_canonical(fs::absolute(path, ignored), ignored);  // a link in one of two spellings
  if (whole.empty()) whole = fs::absolute(path, ignored).lexically_normal();
  return whole.has_filename() ? whole : whole.parent_path();
}

// The last names of what the links in the folder, and in its checkpoints/, point to.
std::set<std::string> link_targets(const std::string& run, const storage::FolderWalk& walk) {
  std::set<std::string> targets;
  for (const auto& entry : walk.entries) {
    std::error_code error;
    if (!entry.is_link) continue;
    const auto target = fs::read_symlink(run + "/" + entry.path, error).lexically_normal();
    if (!error) targets.insert((target.has_filename() ? target : target.parent_path()).filename().string());
  }
  return targets;
}

std::uint64_t bytes_below(const storage::FolderWalk& walk, const std::string& folder) {
  std::uint64_t bytes = 0;
  for (const auto& entry : walk.entries) {
    if (entry.path.starts_with(folder + "/")) bytes += entry.bytes;
  }
  return bytes;
}

std::string fork_with(const RunRecord& run, const std::string& checkpoint, const std::vector<RunRecord>& others) {
  for (const RunRecord& other : others) {
    if (other.parent_checkpoint == checkpoint && is_fork_of(other, run)) return other.path;
  }
  return {};
}

}  // namespace

bool is_fork_of(const RunRecord& fork, const RunRecord& run) {
  if (fork.parent.empty()) return false;
  const auto here = whole_path(run.path), there = whole_path(fork.path), parent = whole_path(fork.parent);
  if (here == there) return false;
  return parent == here || (parent.filename() == here.filename() && there.parent_path() == here.parent_path());
}

std::vector<RunCheckpoint> read_checkpoints(const RunRecord& run, const std::vector<RunRecord>& others) {
  storage::ConfinedFileSystem files(run.path, storage::Owner::kAnyone);
  const std::string folder = run.path + "/" + kFolder;
  if (files.kind_of(folder) != base::PathKind::kFolder) return {};
  const auto walk = storage::walk_folder(run.path);
  const auto linked = link_targets(run.path, walk);
  const std::string best = history::best_checkpoint(files, folder, run.path + "/journal");
  std::vector<RunCheckpoint> checkpoints;
  for (const auto& entry : history::list_checkpoints(files, folder)) {
    const std::string name = entry.name();
    const std::string fork = fork_with(run, name, others);
    RunCheckpoint checkpoint{name, bytes_below(walk, std::string(kFolder) + "/" + name), ""};
    if (linked.contains(name)) checkpoint.needed = "a link refers to it";
    if (!fork.empty()) checkpoint.needed = "the fork " + fork + " began with it";
    if (name == best) checkpoint.needed = "the best";
    checkpoints.push_back(std::move(checkpoint));
  }
  if (!checkpoints.empty()) checkpoints.back().needed = "the last";
  return checkpoints;
}

}  // namespace esper::runs
