#pragma once
// The file system that a folder is on, or will be. Any thread; waits for the file system.

#include <cstdint>
#include <optional>
#include <string>

namespace esper::jobs {

struct Disk {
  std::uint64_t id = 0;  // of the file system: equal for all folders on it, while it is mounted
  std::int64_t total_bytes = 0;
  std::int64_t free_bytes = 0;  // for this process's user
  bool operator==(const Disk&) const = default;
};

// Of the folder, or the nearest one above it that exists. Nothing: it cannot be asked.
std::optional<Disk> disk_of(const std::string& folder);

}  // namespace esper::jobs
