#pragma once
// Streams of a GPU beside the calling thread's current one. Any thread.

#include <c10/core/Stream.h>

namespace esper::device {

enum class SideStream { kCopies, kCaptures, kPolicies };

// One for each purpose and GPU: torch's allocator keeps memory by stream, and its pool of streams hands the same ones
// out again and again.
c10::Stream side_stream(c10::Device device, SideStream purpose);

}  // namespace esper::device
