#pragma once
// Training progress, for a progress bar.

#include <atomic>
#include <cstdint>

namespace esper::leyline {

enum class Phase : std::uint8_t { kStarting, kTraining, kValidating, kSaving, kDone };

// The training thread stores with std::memory_order_relaxed, which costs about as much as a plain store; readers may
// see the fields of two neighbouring moments together. Held by shared_ptr, since a bar may outlive a run by a moment.
struct Progress {
  std::atomic<std::uint32_t> epoch{0};   // the running one, from 1
  std::atomic<std::uint32_t> epochs{0};  // of the whole run; 0: unknown
  std::atomic<std::uint64_t> step{0};    // steps done in this epoch
  std::atomic<std::uint64_t> steps{0};   // steps of this epoch
  std::atomic<Phase> phase{Phase::kStarting};
};

}  // namespace esper::leyline
