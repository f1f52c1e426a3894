#include "program/capture.h"

#include <c10/core/StreamGuard.h>

#include <chrono>

#include "device/out_of_memory.h"
#include "device/side_stream.h"

namespace esper::program {
namespace {

c10::Stream stream_of_captures(c10::Device device) {
  return device::side_stream(device, device::SideStream::kCaptures);
}

std::string reason_of(const std::exception& error) {
  const auto* of_torch = dynamic_cast<const c10::Error*>(&error);
  return of_torch != nullptr ? of_torch->what_without_backtrace() : error.what();
}

void wait_if_possible(const device::CudaTable& cuda, c10::Device device) {
  try {
    cuda.synchronize(device.index());
  } catch (const std::exception&) {
    // A GPU that failed is not waited for; what it did is reported where it was asked for.
  }
}

}  // namespace

CaptureBackend capture_backend() {
  static GraphPools pools(device::cuda());
  return {device::cuda(), pools, stream_of_captures};
}

Capture::Capture(c10::Device device, const std::function<void()>& step, int warm_ups, const CaptureBackend& backend)
    : device_(device), cuda_(backend.cuda) {
  std::string stage = "warm_up";
  try {
    cuda_.synchronize(device.index());
    const c10::StreamGuard guard(backend.stream_of(device));
    for (int i = 0; i < warm_ups; ++i) step();
    cuda_.synchronize(device.index());
    stage = "capture";
    const auto begin = std::chrono::steady_clock::now();
    record_within_memory(step, backend.pools);
    // What a capture prepares on its stream, as the generator's numbers, is there before another stream replays.
    cuda_.synchronize(device.index());
    capture_ms_ = std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - begin).count();
  } catch (const std::exception& error) {
    discard();
    // The stream of captures waits for no other, nor they for it: what a warm-up queued before it failed would write
    // the state after the caller has restored it.
    wait_if_possible(cuda_, device);
    throw CaptureFailure(stage, reason_of(error));
  }
}

// While a graph is captured torch's allocator gives no cached memory back to the GPU (CUDACachingAllocator.cpp,
// captures_underway), and the graph's pool has no use of it: eager steps and the warm-up cached theirs for themselves.
// torch.cuda.graph empties the cache before each capture. Here that is done only where memory ran out: a network that
// grows is captured often, and after each time the steps would allocate from the driver again.
void Capture::record_within_memory(const std::function<void()>& step, GraphPools& pools) {
  try {
    return record(step, pools);
  } catch (const std::exception& error) {
    if (device::out_of_memory_message(error).empty()) throw;
  }
  discard();
  cuda_.synchronize(device_.index());
  cuda_.empty_cache(device_.index());
  record(step, pools);
}

void Capture::record(const std::function<void()>& step, GraphPools& pools) {
  pool_ = pools.lease(device_.index());
  graph_ = cuda_.graph_create(device_.index(), *pool_);
  cuda_.graph_begin(graph_);
  step();
  cuda_.graph_end(graph_);
}

// The pool after its graph: one that was used by this graph alone cannot be used again.
void Capture::discard() {
  if (graph_ != nullptr) cuda_.graph_destroy(graph_);
  graph_ = nullptr;
  pool_.reset();
}

// The graph's memory goes back to the allocator, which may give it to other streams at once.
Capture::~Capture() {
  wait_if_possible(cuda_, device_);
  cuda_.graph_destroy(graph_);
}

void Capture::replay() { cuda_.graph_replay(graph_); }

}  // namespace esper::program
