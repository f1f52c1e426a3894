#pragma once
// What a profiler of the GPU sees of the training thread.

#include "base/ledger/ledger_watch.h"

namespace esper::device {

// Hooks that show each owner of the training thread's time as an NVTX range. The CUDA module is loaded.
base::LedgerHooks nvtx_ranges();

}  // namespace esper::device
