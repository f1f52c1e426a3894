#pragma once
// Which of this machine's GPUs jobs may have. Any thread.

#include <string_view>
#include <vector>

#include "base/nvml.h"

namespace esper::jobs {

using base::Gpu;

// Those that a CUDA_VISIBLE_DEVICES names, by index or by the beginning of a UUID, in its order. As CUDA does, what
// follows the first entry that names none of them is ignored.
std::vector<Gpu> visible_gpus(const std::vector<Gpu>& gpus, std::string_view list);

}  // namespace esper::jobs
