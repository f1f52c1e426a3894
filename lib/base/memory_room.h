#pragma once
// How much more memory this process may allocate, by every limit that ends in a kill or a failed allocation. Any
// thread.

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>

namespace esper::base {

// Where the limits are read.
struct MemorySources {
  std::filesystem::path proc = "/proc";       // meminfo, self/status, self/cgroup and self/mountinfo
  std::optional<std::int64_t> address_space;  // RLIMIT_AS in bytes; none: unlimited
  std::optional<std::int64_t> data_segment;   // RLIMIT_DATA in bytes; none: unlimited
};

// /proc, and the resource limits of this process.
MemorySources system_memory();

struct MemoryRoom {
  std::int64_t bytes = 0;  // at least 0
  std::string limit;       // what bounds it, for a message: "memory.max of cgroup /a/b, 4096 MiB"
};

// The least of: MemAvailable; the resource limits less what the process has mapped; and for the process's own cgroup
// and each of its ancestors that is visible here (v1 or v2, see mountinfo) memory.max, memory.high or
// memory.limit_in_bytes less what is in use, the page cache of files not counted. What cannot be read bounds nothing.
MemoryRoom memory_room(const MemorySources& sources);

// What these cgroups and the machine allow in all, used or not.
MemoryRoom whole_memory(const MemorySources& sources);

// "12 MiB"; "740 bytes" below one.
std::string mebibytes(std::int64_t bytes);

}  // namespace esper::base
