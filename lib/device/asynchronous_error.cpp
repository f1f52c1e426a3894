#include "device/asynchronous_error.h"

#include <algorithm>
#include <array>
#include <string>

#include "base/text/ascii.h"

namespace esper::device {

namespace {

// In lower case: what cudaGetErrorString says of the errors after which a process can use the GPU no more (CUDA 13.0),
// and what cuBLAS and cuDNN make of them. "unknown error" is what the driver has for a GPU that is gone from its bus.
constexpr std::array<std::string_view, 18> kLateWords = {"illegal memory access",
                                                         "device-side assert",
                                                         "unspecified launch failure",
                                                         "uncorrectable ecc error",
                                                         "uncorrectable nvlink error",
                                                         "invalid access of peer gpu memory",
                                                         "the launch timed out",
                                                         "hardware stack error",
                                                         "illegal instruction",
                                                         "misaligned address",
                                                         "operation not supported on global/shared address space",
                                                         "invalid program counter",
                                                         "tensor memory not completely freed",
                                                         "mps client has been terminated",
                                                         "async error has occured in external entity",
                                                         "error: unknown error",
                                                         "cublas_status_execution_failed",
                                                         "cudnn_status_execution_failed"};

}  // namespace

bool is_asynchronous_error(std::string_view message) {
  const std::string small = base::lower_case(std::string(message));
  return std::ranges::any_of(kLateWords,
                             [&](std::string_view words) { return small.find(words) != std::string::npos; });
}

}  // namespace esper::device
