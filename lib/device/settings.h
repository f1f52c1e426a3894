#pragma once
// Settings of the whole process.

#include <c10/core/Device.h>

#include <exception>
#include <string>

#include "config/device_config.h"

namespace esper::device {

// Threads inside one operator (0 leaves torch's own choice), determinism, and on CUDA TF32 and cuBLAS's fixed
// workspace. After select_device, before the first tensor operation; main thread. With `deterministic` an operator that
// has no deterministic form throws c10::Error that names it.
void apply_settings(const config::DeviceConfig& config, c10::Device device);

// The operator that this error names as one without a deterministic form; empty where it is another error.
std::string nondeterministic_operator(const std::exception& error);

// From now on malloc keeps what a step frees for the next step (docs/decisions/0036): glibc gives the free top of its
// heap back only from 256 MiB on, and blocks below 32 MiB come from the heap. Nothing where the user has set glibc's
// thresholds. After the data were loaded, whose memory may go; any thread.
void keep_freed_memory();

}  // namespace esper::device
