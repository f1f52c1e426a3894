#include "runs/remove_run.h"

#include <filesystem>

#include "history/growth/checkpoint_list.h"
#include "runs/find_runs.h"
#include "runs/run_stamp.h"
#include "storage/atomic_publish.h"
#include "storage/confined_file_system.h"
#include "storage/file_tools.h"
#include "storage/folder_lock.h"
#include "storage/moved_away.h"

namespace esper::runs {
namespace {

namespace fs = std::filesystem;

// Whole, and without a last slash.
std::string whole_path_of(const std::string& folder) {
  std::error_code ignored;
  const auto path = fs::absolute(folder, ignored).lexically_normal();
  return (path.has_filename() ? path : path.parent_path()).string();
}

base::Expected<base::File> lock_run(base::FileSystem& files, const std::string& folder) {
  auto attempt = storage::try_lock_folder(files, folder);
  if (!attempt.lock) return base::failure(folder + " is running: it is in use by " + attempt.holder);
  return std::move(*attempt.lock);
}

// A run folder that lies within this one; empty: none.
std::string run_within(const std::string& folder) {
  std::vector<std::string> below;
  std::error_code ignored;
  for (const auto& entry : fs::directory_iterator(folder, ignored)) {
    if (entry.symlink_status(ignored).type() == fs::file_type::directory) below.push_back(entry.path());
  }
  const auto found = find_runs(below).folders;
  return found.empty() ? "" : found.front();
}

template <class Delete>
base::Expected<void> with_reason(const Delete& remove) {
  try {
    return remove();
  } catch (const base::Error& error) {
    return base::failure(error.what());
  }
}

}  // namespace

base::Expected<void> check_prunable(const std::string& given, const std::string& stamp) {
  const std::string folder = whole_path_of(given);
  std::error_code ignored;
  if (fs::is_symlink(folder, ignored)) return base::failure(folder + " is a link; name the run folder itself");
  if (!is_run_folder(folder)) return base::failure(folder + " is not a run folder");
  if (!stamp.empty() && read_run_stamp(folder) != stamp) {
    return base::failure(folder + " changed meanwhile; run the command again");
  }
  return {};
}

base::Expected<void> check_removable(const std::string& given, const std::string& stamp) {
  const std::string folder = whole_path_of(given);
  if (auto checked = check_prunable(folder, stamp); !checked) return checked;
  if (const auto other = run_within(folder); !other.empty()) {
    return base::failure(folder + " holds another run, " + other + "; move that out of it first");
  }
  return {};
}

base::Expected<void> remove_run(const std::string& given, const std::string& stamp) {
  const std::string folder = whole_path_of(given);
  return with_reason([&]() -> base::Expected<void> {
    if (auto checked = check_removable(folder, stamp); !checked) return checked;
    storage::ConfinedFileSystem files(storage::parent_of(folder), storage::Owner::kAnyone);
    storage::ConfinedFileSystem within(folder, storage::Owner::kAnyone);
    const auto lock = lock_run(within, folder);
    if (!lock) return base::failure(lock.error());
    storage::MovedAway away(files, folder);
    away.remove({"config.yaml", "lock"});
    files.sync_folder(storage::parent_of(folder));
    return {};
  });
}

base::Expected<void> remove_checkpoints(const std::string& given, const std::vector<std::string>& names,
                                        const std::string& stamp) {
  const std::string folder = whole_path_of(given);
  return with_reason([&]() -> base::Expected<void> {
    if (auto checked = check_prunable(folder, stamp); !checked) return checked;
    storage::ConfinedFileSystem files(folder, storage::Owner::kAnyone);
    const auto lock = lock_run(files, folder);
    if (!lock) return base::failure(lock.error());
    for (const auto& name : names) {
      if (!history::checkpoint_entry(folder, name)) return base::failure(name + " is not a checkpoint's name");
      storage::remove_published(files, folder + "/checkpoints/" + name);
    }
    return {};
  });
}

}  // namespace esper::runs
