#include "tolaria/run/run_folder.h"

#include <fmt/core.h>

#include <ctime>
#include <filesystem>

#include "base/signal_point.h"
#include "history/bundle_config.h"
#include "history/require_run_folder.h"
#include "history/run_place.h"
#include "history/setting_change.h"
#include "storage/atomic_publish.h"
#include "storage/file_tools.h"
#include "storage/folder_lock.h"

namespace esper::tolaria {
namespace {

using base::Error;
using base::ExitCode;
using base::FileSystem;
using base::PathKind;

base::File lock_or_refuse(FileSystem& files, const std::string& path) {
  auto attempt = storage::try_lock_folder(files, path);
  if (!attempt.lock) {
    throw Error(ExitCode::kTryAgain, fmt::format("run folder {} is in use by {}; wait until that run has ended, or "
                                                 "choose another folder with --run-dir",
                                                 path, attempt.holder));
  }
  return std::move(*attempt.lock);
}

// "run" for "run/", so that paths of its files have one form.
std::string without_trailing_slashes(const std::string& path) {
  const auto last = path.find_last_not_of('/');
  return last == std::string::npos ? path.substr(0, 1) : path.substr(0, last + 1);
}

void require_place_for_folder(FileSystem& files, const std::string& path) {
  std::string place = path;
  while (files.kind_of(place) == PathKind::kNothing && storage::parent_of(place) != place)
    place = storage::parent_of(place);
  const PathKind kind = files.kind_of(place);
  if (kind != PathKind::kFile && kind != PathKind::kOther) return;
  throw Error(ExitCode::kConfig,
              place + " exists and is not a folder; choose another place with --run-dir or runs_dir");
}

void require_folder_of_its_own(FileSystem& files, const std::string& path) {
  for (const auto why : {history::why_within_run, history::why_holds_runs}) {
    if (const std::string reason = why(files, path); !reason.empty()) throw Error(ExitCode::kConfig, reason);
  }
}

bool is_run_file(std::string_view name) {
  return name == "config.yaml" || name == "summary.json" || name == "trace.json" || name.starts_with("journal");
}

// Deletes partly written files of killed processes.
void remove_leftovers(FileSystem& files, const RunFolder& folder) {
  storage::remove_leftovers_under_lock(files, folder.path, is_run_file);
  storage::remove_leftovers_under_lock(files, folder.checkpoints(),
                                       [](std::string_view name) { return name.starts_with("epoch-"); });
  const std::string bundles = folder.path + "/" + history::kBundlesFolder;
  if (files.kind_of(bundles) == PathKind::kFolder) {
    storage::remove_leftovers_under_lock(files, bundles,
                                         [](std::string_view name) { return history::bundle_step(name).has_value(); });
  }
  const std::string changes = history::changes_folder(folder.path);
  if (files.kind_of(changes) != PathKind::kFolder) return;
  storage::remove_leftovers_under_lock(files, changes, [](std::string_view name) { return name == "accepted.json"; });
}

}  // namespace

std::string RunFolder::run_id() const {
  const auto whole = std::filesystem::absolute(path).lexically_normal().string();
  return std::filesystem::path(without_trailing_slashes(whole)).filename().string();
}

RunFolder create_run_folder(FileSystem& files, const std::string& given, const std::string& config_yaml) {
  const std::string path = without_trailing_slashes(given);
  require_place_for_folder(files, path);
  require_folder_of_its_own(files, path);
  storage::ensure_folder(files, path);
  RunFolder folder{path, lock_or_refuse(files, path)};
  if (files.kind_of(folder.config()) != PathKind::kNothing) {
    throw Error(ExitCode::kConfig, fmt::format("run folder {} already contains a run; continue it with --resume {}, or "
                                               "choose another folder with --run-dir",
                                               path, path));
  }
  storage::ensure_folder(files, folder.checkpoints());
  remove_leftovers(files, folder);
  base::fault::signal_point("tolaria.creating");
  storage::publish_file(files, folder.config(), storage::bytes_of(config_yaml));
  return folder;
}

RunFolder open_run_folder(FileSystem& files, const std::string& given) {
  const std::string path = without_trailing_slashes(given);
  history::require_run_folder(files, path);
  RunFolder folder{path, lock_or_refuse(files, path)};
  storage::ensure_folder(files, folder.checkpoints());
  remove_leftovers(files, folder);
  return folder;
}

std::string new_run_path(FileSystem& files, const std::string& runs_dir, const std::string& name,
                         std::uint64_t wall_ns) {
  const auto seconds = static_cast<std::time_t>(wall_ns / 1'000'000'000);
  std::tm utc{};
  gmtime_r(&seconds, &utc);
  char stamp[32];
  std::strftime(stamp, sizeof stamp, "%Y%m%d-%H%M%S", &utc);
  return storage::free_name(files, fmt::format("{}/{}-{}", runs_dir, name, stamp));
}

}  // namespace esper::tolaria
