#pragma once
// Times single steps. On a CUDA device work only queues up, so there the mean of a chunk that ends with a wait counts.

#include <c10/core/Device.h>

#include <algorithm>
#include <chrono>
#include <vector>

#include "device/cuda_table.h"

namespace esper::engine::bench {

template <class Step>
void time_steps(int steps, c10::Device device, std::vector<double>& out_us, const Step& step) {
  using Clock = std::chrono::steady_clock;
  using Microseconds = std::chrono::duration<double, std::micro>;
  constexpr int kChunk = 10;
  const bool cuda = device.is_cuda();
  if (cuda) device::cuda().synchronize(device.index());
  auto before = Clock::now();
  for (int done = 0; done < steps;) {
    const int chunk = cuda ? std::min(kChunk, steps - done) : 1;
    for (int i = 0; i < chunk; ++i) step();
    if (cuda) device::cuda().synchronize(device.index());
    const auto after = Clock::now();
    out_us.push_back(Microseconds(after - before).count() / chunk);
    before = after;
    done += chunk;
  }
}

}  // namespace esper::engine::bench
