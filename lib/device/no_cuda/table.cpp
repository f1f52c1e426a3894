#include <c10/core/impl/VirtualGuardImpl.h>

#include "base/error.h"
#include "device/cuda_table.h"

namespace esper::device {
namespace {

[[noreturn]] void refuse() {
  throw base::Error(base::ExitCode::kResources,
                    "CUDA was used, but its module is not loaded; choose the device with device.kind: cuda");
}

constexpr CudaTable kRefusing{
    .device_count = [] { return 0; },
    .facts = [](int) -> GpuFacts { refuse(); },
    .memory = [](int) -> MemoryFigures { refuse(); },
    .synchronize = [](int) { refuse(); },
    .empty_cache = [](int) { refuse(); },
    .side_stream = [](int) -> c10::Stream { refuse(); },
    .set_device = [](int) { refuse(); },
    .graph_pool = []() -> GraphPool { refuse(); },
    .graph_pool_free = [](int, GraphPool) { refuse(); },
    .graph_create = [](int, GraphPool) -> CudaGraph* { refuse(); },
    .graph_begin = [](CudaGraph*) { refuse(); },
    .graph_end = [](CudaGraph*) { refuse(); },
    .graph_replay = [](CudaGraph*) { refuse(); },
    .graph_destroy = [](CudaGraph*) { refuse(); },
    .set_host_waits = [](HostWaits) { refuse(); },
    .range_push = [](const char*) { refuse(); },
    .range_pop = [] { refuse(); },
};

}  // namespace

// c10 asks whichever backend is registered for the device: libtorch_cuda's, once the module is loaded.
c10::Stream current_stream(c10::Device device) { return c10::impl::VirtualGuardImpl(device.type()).getStream(device); }

const CudaTable& unavailable_cuda_table() { return kRefusing; }

}  // namespace esper::device
