#pragma once
// Settings of the whole process.

#include <c10/core/Device.h>

#include "config/device_config.h"

namespace esper::device {

// Threads inside one operator (0 leaves torch's own choice), determinism, and on CUDA TF32 and cuBLAS's fixed
// workspace. After select_device, before the first tensor operation; main thread. With `deterministic` an operator that
// has no deterministic form throws c10::Error that names it.
// Up to 256 MiB of freed host memory stay with the process for the next step, and blocks below 32 MiB come from the
// heap (docs/decisions/0036); a user's GLIBC_TUNABLES with a glibc.malloc.* is left as it is.
void apply_settings(const config::DeviceConfig& config, c10::Device device);

}  // namespace esper::device
