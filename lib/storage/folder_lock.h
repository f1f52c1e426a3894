#pragma once
// One process for one folder: a run folder has one writer. Any thread.

#include <optional>
#include <string>

#include "base/descriptor.h"
#include "base/file_system.h"

namespace esper::storage {

struct FolderLockAttempt {
  std::optional<base::File> lock;  // held while it lives; ends with the process, however that ends
  std::string holder;              // without the lock: who has it, for the message, e.g. "process 4711 on node3"
};

// Takes the advisory lock of `<folder>/lock`, a file that stays there. Never waits.
FolderLockAttempt try_lock_folder(base::FileSystem& file_system, const std::string& folder);

// Whether a process holds that lock, asked without taking it: no process that starts meanwhile is refused. Without a
// lock file it is free. `opened`: the folder. Throws IoError, and UnsafePath where the file is a link or no regular
// file.
enum class FolderUse { kFree, kHeld };
FolderUse folder_use(const base::Descriptor& opened, const std::string& folder);

}  // namespace esper::storage
