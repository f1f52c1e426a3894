#include "device/cuda_table.h"
#include "leyline/error.h"

namespace esper::device {
namespace {

[[noreturn]] void refuse() {
  throw leyline::Error(leyline::ExitCode::kResources,
                       "CUDA was used, but its module is not loaded; choose the device with device.kind: cuda");
}

constexpr CudaTable kRefusing{
    .device_count = [] { return 0; },
    .facts = [](int) -> GpuFacts { refuse(); },
    .memory = [](int) -> MemoryFigures { refuse(); },
    .synchronize = [](int) { refuse(); },
    .side_stream = [](int) -> c10::Stream { refuse(); },
};

}  // namespace

const CudaTable& refusing_cuda_table() { return kRefusing; }

}  // namespace esper::device
