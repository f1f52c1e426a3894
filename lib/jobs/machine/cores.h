#pragma once
// How many cores this process may use. Any thread.

#include <cstdint>
#include <filesystem>

namespace esper::jobs {

// The cores of its affinity, and no more than the CPU time that its cgroups allow, rounded up. At least 1. proc:
// where cgroups are told of.
std::int64_t usable_cores(const std::filesystem::path& proc = "/proc");

}  // namespace esper::jobs
