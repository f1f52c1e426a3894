#pragma once
// The GPUs of this machine as the driver tells of them. Plain data, and what follows from it. Any thread.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace esper::jobs {

struct Gpu {
  std::int64_t index = 0;  // in the order of PCI addresses, as nvidia-smi shows it
  std::string name{};      // "NVIDIA H100 80GB HBM3"
  std::string uuid{};      // "GPU-..."
  std::int64_t total_bytes = 0;
  std::int64_t free_bytes = 0;  // now: what no process has taken, whoever's it is
  bool operator==(const Gpu&) const = default;
};

// Those that a CUDA_VISIBLE_DEVICES names, by index or by the beginning of a UUID, in its order. As CUDA does, what
// follows the first entry that names none of them is ignored.
std::vector<Gpu> visible_gpus(const std::vector<Gpu>& gpus, std::string_view list);

}  // namespace esper::jobs
