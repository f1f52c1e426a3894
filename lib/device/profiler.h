#pragma once
// What a profiler of the card sees of the training thread.

#include "leyline/ledger.h"

namespace esper::device {

// Hooks that show each owner of the training thread's time as an NVTX range. The CUDA module is loaded.
leyline::LedgerHooks nvtx_ranges();

}  // namespace esper::device
