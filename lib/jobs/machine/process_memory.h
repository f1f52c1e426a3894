#pragma once
// What a process and its descendants have of the machine's memory. Any thread.

#include <sys/types.h>

#include <cstdint>

namespace esper::jobs {

// Bytes that are resident and that they alone have: pages of files, which many share and the kernel can have back, are
// not counted. 0: it does not live.
std::int64_t own_memory_of(pid_t pid);

}  // namespace esper::jobs
