#include "device/profiler.h"

#include "device/cuda_table.h"

namespace esper::device {

leyline::LedgerHooks nvtx_ranges() {
  return {.on_enter = [](leyline::Owner owner) { cuda().range_push(names(owner)[index_of(owner)].second); },
          .on_leave = [](leyline::Owner) { cuda().range_pop(); }};
}

}  // namespace esper::device
