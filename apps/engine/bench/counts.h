#pragma once
// What a step does, counted exactly: figures that no other load on the machine can change.

#include <c10/core/Device.h>

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>

namespace esper::engine::bench {

struct StepCounts {
  std::int64_t operators = 0;                      // calls through the dispatcher, with the autograd engine's
  std::map<std::string, std::int64_t> by_name;     // the same by operator
  std::int64_t host_reads = 0;                     // of them, those that wait for a value: item, is_nonzero, equal, ...
  std::optional<std::int64_t> allocations;         // heap blocks asked for; empty without libesper_counters.so
  std::optional<std::int64_t> kernel_launches;     // through the CUDA runtime; empty on the CPU or without the library
  std::optional<std::int64_t> device_allocations;  // blocks asked of torch's caching allocator; empty on the CPU
};

// Per step, over `steps` steps after a few unseen ones. A count that is not the same for each step is rounded up.
// Preload libesper_counters.so (scripts/perf_drill does) for allocations and launches.
StepCounts count_step(const std::function<void()>& step, int steps, c10::Device device);

}  // namespace esper::engine::bench
