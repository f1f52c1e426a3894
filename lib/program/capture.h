#pragma once
// A step as a CUDA graph: what a function queues on the GPU, recorded once and replayed as one launch. Training
// thread.
//
// The function computes on memory that stays where it is: the state, and the buffers that the caller copies each batch
// into. What it allocates while it is captured lies in memory of its own, which all captures of a GPU share: they are
// replayed one after another on one stream, and nothing in there is needed after a replay. Random numbers differ from
// replay to replay as they differ from step to step, and go on where the GPU's generator stands.

#include <c10/core/Device.h>
#include <c10/core/Stream.h>

#include <functional>
#include <memory>
#include <stdexcept>
#include <string>

#include "program/graph_pools.h"

namespace esper::program {

// The function cannot be captured. what() is the reason.
struct CaptureFailure : std::runtime_error {
  CaptureFailure(std::string in_stage, const std::string& reason)
      : std::runtime_error(reason), stage(std::move(in_stage)) {}
  std::string stage;  // warm_up or capture
};

// What captures work with. A capture keeps the reference to the table.
struct CaptureBackend {
  const device::CudaTable& cuda;
  GraphPools& pools;
  c10::Stream (*stream_of)(c10::Device device);  // for warm-ups and captures
};

// This process's. The first call is after load_cuda().
CaptureBackend capture_backend();

class Capture {
 public:
  // Runs `step` warm_ups times on the stream on which it is then captured, so that libraries are set up and kernels
  // chosen; a capture itself computes nothing. A capture that runs out of memory is tried once more with what torch's
  // allocator had cached. Waits for the GPU. Throws CaptureFailure; the GPU's streams and memory are then as before,
  // and nothing that `step` queued is still to run. step: queues on the current stream, from the calling thread alone.
  Capture(c10::Device device, const std::function<void()>& step, int warm_ups,
          const CaptureBackend& backend = capture_backend());
  ~Capture();  // waits for the GPU
  Capture(const Capture&) = delete;
  Capture& operator=(const Capture&) = delete;

  // Queues the captured work on the current stream.
  void replay();

  double capture_ms() const { return capture_ms_; }  // without the warm-up

 private:
  void record_within_memory(const std::function<void()>& step, GraphPools& pools);
  void record(const std::function<void()>& step, GraphPools& pools);
  void discard();

  c10::Device device_;
  const device::CudaTable& cuda_;
  GraphPools::Lease pool_;
  device::CudaGraph* graph_ = nullptr;
  double capture_ms_ = 0;
};

}  // namespace esper::program
