#pragma once
// For drills and tests: lets memory for tensors on the CPU run out where the fault point device.allocation says so.

namespace esper::device {

// From now on each allocation of the process hits the point, and one where it fires throws what PyTorch's allocator
// throws if the machine has no memory left. Where the point is not armed nothing changes. Before other threads
// allocate.
void let_memory_fail_if_armed();

}  // namespace esper::device
