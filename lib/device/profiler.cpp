#include "device/profiler.h"

#include "device/cuda_table.h"

namespace esper::device {

base::LedgerHooks nvtx_ranges() {
  return {.on_enter = [](base::Owner owner) { cuda().range_push(names(owner)[index_of(owner)].second); },
          .on_leave = [](base::Owner) { cuda().range_pop(); }};
}

}  // namespace esper::device
