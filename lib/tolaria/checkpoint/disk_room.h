#pragma once
// Whether a run's next checkpoint fits on its disk. Plain data; any thread.

#include <cstdint>

namespace esper::tolaria {

struct DiskRoom {
  std::uint64_t usable_bytes = 0;      // free for this process, and what the run keeps for its last save
  std::uint64_t checkpoint_bytes = 0;  // of the newest checkpoint, or of the run's state as it began
};

}  // namespace esper::tolaria
