#include "program/capture.h"

#include <c10/core/Stream.h>
#include <c10/core/StreamGuard.h>

#include <chrono>
#include <map>
#include <mutex>

namespace esper::program {
namespace {

// Of one card, for the life of the process: torch's pool of streams hands the same ones out again and again, so the
// stream is asked for once.
struct CaptureGround {
  c10::Stream stream;
  device::GraphPool pool;
};

CaptureGround& ground_of(c10::Device device) {
  static std::mutex mutex;
  static std::map<c10::DeviceIndex, CaptureGround> grounds;
  const std::lock_guard lock(mutex);
  const auto known = grounds.find(device.index());
  if (known != grounds.end()) return known->second;
  return grounds
      .emplace(device.index(), CaptureGround{device::cuda().side_stream(device.index()), device::cuda().graph_pool()})
      .first->second;
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
    const CaptureGround& ground = ground_of(device);
    cuda.synchronize(device.index());
    const c10::StreamGuard guard(ground.stream);
    for (int i = 0; i < warm_ups; ++i) step();
    cuda.synchronize(device.index());
    stage = "capture";
    const auto begin = std::chrono::steady_clock::now();
    graph_ = cuda.graph_create(device.index(), ground.pool);
    record(step);
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
