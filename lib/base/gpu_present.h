#pragma once
// Whether the machine has a GPU, without any of CUDA. Any thread.

#include <string>

namespace esper::base {

// True where NVIDIA's driver has made its device files; loads nothing. `root` is "" but in tests.
bool gpu_present(const std::string& root = "");

// For people, where it is false.
inline constexpr char kNoGpu[] = "this machine has no NVIDIA GPU, or its driver is not loaded";

}  // namespace esper::base
