#pragma once
// For tests that need a GPU: those of label gpu.

#include <catch2/catch_test_macros.hpp>

#include "base/gpu_present.h"
#include "device/cuda_table.h"
#include "device/select.h"

namespace esper::test {

// The first GPU. Skips the test, visibly, on a machine without any; a GPU that cannot be used fails it.
inline c10::Device gpu_or_skip() {
  if (!base::gpu_present()) SKIP("this machine has no NVIDIA GPU: nothing was tested on one");
  static const auto device = device::select_device("cuda").device;
  return device;
}

// While it lives, a wait of the host for the GPU throws.
class NoHostWaits {
 public:
  NoHostWaits() { device::cuda().set_host_waits(device::HostWaits::kRefused); }
  ~NoHostWaits() { device::cuda().set_host_waits(device::HostWaits::kAllowed); }
  NoHostWaits(const NoHostWaits&) = delete;
  NoHostWaits& operator=(const NoHostWaits&) = delete;
};

}  // namespace esper::test
