#include "program/capture.h"

#include <c10/core/Stream.h>
#include <c10/core/StreamGuard.h>

#include <chrono>

#include "device/side_stream.h"

namespace esper::program {
namespace {

GraphPools& graph_pools() {
  static GraphPools pools(device::cuda());
  return pools;
}

std::string reason_of(const std::exception& error) {
  const auto* of_torch = dynamic_cast<const c10::Error*>(&error);
  return of_torch != nullptr ? of_torch->what_without_backtrace() : error.what();
}

}  // namespace

Capture::Capture(c10::Device device, const std::function<void()>& step, int warm_ups) : device_(device) {
  const device::CudaTable& cuda = device::cuda();
  std::string stage = "warm_up";
  try {
    cuda.synchronize(device.index());
    const c10::StreamGuard guard(device::side_stream(device, device::SideStream::kCaptures));
    for (int i = 0; i < warm_ups; ++i) step();
    cuda.synchronize(device.index());
    stage = "capture";
    const auto begin = std::chrono::steady_clock::now();
    pool_ = graph_pools().lease(device.index());
    graph_ = cuda.graph_create(device.index(), *pool_);
    record(step);
    // What a capture prepares on its stream, as the generator's numbers, is there before another stream replays.
    cuda.synchronize(device.index());
    capture_ms_ = std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - begin).count();
  } catch (const std::exception& error) {
    if (graph_ != nullptr) cuda.graph_destroy(graph_);
    throw CaptureFailure(stage, reason_of(error));
  }
}

void Capture::record(const std::function<void()>& step) {
  device::cuda().graph_begin(graph_);
  step();
  device::cuda().graph_end(graph_);
}

// The graph's memory goes back to the allocator, which may give it to other streams at once.
Capture::~Capture() {
  try {
    device::cuda().synchronize(device_.index());
  } catch (const std::exception&) {
    // A card that failed is not waited for; what it did is reported where it was asked for.
  }
  device::cuda().graph_destroy(graph_);
}

void Capture::replay() { device::cuda().graph_replay(graph_); }

}  // namespace esper::program
