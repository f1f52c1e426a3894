// Built where the CUDA side is not.
#include "device/cuda_table.h"

namespace esper::device {

const CudaModule& load_cuda() {
  static const CudaModule module{
      &unavailable_cuda_table(),
      "this build has no CUDA support; run scripts/bootstrap for the CUDA headers and build again"};
  return module;
}

const CudaTable& cuda() { return unavailable_cuda_table(); }
bool cuda_loaded() { return false; }

}  // namespace esper::device
