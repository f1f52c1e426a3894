#pragma once
// What lies in a folder and below it, with sizes and times, in few system calls. No link is followed and no file is
// opened, so that nothing in the folder can lead out of it or be waited for. Any thread.

#include <cstdint>
#include <string>
#include <vector>

#include "base/descriptor.h"
#include "base/file_system.h"

namespace esper::storage {

struct WalkedEntry {
  std::string path;                              // from the folder on: "checkpoints/epoch-0001-step-000000023/run.json"
  base::PathKind kind = base::PathKind::kOther;  // of the entry itself: a symbolic link is kOther
  bool is_link = false;
  // Of a file: its size, or what it takes on the disk where that is less, as of a file with holes.
  std::uint64_t bytes = 0;
  std::int64_t modified_ns = 0;  // since the UNIX epoch; of folders see WalkLimits
  std::uint64_t inode = 0;
};

struct WalkLimits {
  int depth = 8;                  // 1: the folder's own entries alone
  std::size_t entries = 100'000;  // of all folders together
  bool folder_times = true;       // of the folders directly in the folder; of those below none are asked for
};

struct FolderWalk {
  std::vector<WalkedEntry> entries;  // of each folder sorted by name; a folder before what it holds
  std::string incomplete;            // why something may be missing: a limit, or what could not be read; else empty
};

// Of the folder's own path links are followed. Throws IoError where it cannot be listed; a folder below it that cannot
// be listed is `incomplete`.
FolderWalk walk_folder(const std::string& folder, WalkLimits limits = {});
// The same of an open folder that nothing was listed of yet.
FolderWalk walk_folder(const base::Descriptor& folder, WalkLimits limits = {});

// Of all files.
std::uint64_t bytes_of(const FolderWalk& walk);

}  // namespace esper::storage
