#pragma once
// A short text that changes whenever a run's record might: what refresh() compares instead of reading the files. Any
// thread.

#include <cstdint>
#include <string>

#include "storage/folder_lock.h"
#include "storage/folder_walk.h"

namespace esper::runs {

// A hash of name, kind, size, time and inode of each entry directly in the folder, and of whether the lock is held.
// Processes write nothing else: a checkpoint is published whole, which changes the entry `checkpoints`, the list of
// accepted changes likewise the entry `changes`, and each packet, journal record and the summary change theirs. The
// lock is part of it because a killed process changes no file. `top`: the folder's own entries; those below are
// ignored.
std::string run_stamp(const storage::FolderWalk& top, storage::FolderUse use);

// The same of a folder on disk. Throws IoError, and UnsafePath for a lock that is no regular file.
std::string read_run_stamp(const std::string& folder);

}  // namespace esper::runs
