#pragma once
// Copies batches to the device beside the step: out of pinned memory, on a stream of its own.

#include <ATen/core/Tensor.h>
#include <c10/core/Device.h>
#include <c10/core/Event.h>
#include <c10/core/Stream.h>

#include <memory>
#include <optional>

namespace esper::device {

// A copy that may still be under way.
struct StagedCopy {
  at::Tensor tensor;                 // on the device; not to be read before take()
  std::unique_ptr<c10::Event> done;  // null on the CPU
};

// On the CPU everything here returns the tensor that it was given: nothing is copied.
// pin() and start() belong to one thread (the loader's), take() to the thread that trains.
class Staging {
 public:
  explicit Staging(c10::Device device);

  // The same values in page-locked memory, which alone can be copied beside other work.
  at::Tensor pin(const at::Tensor& host) const;

  // Queues the copy and returns at once. `host` comes from pin(); it may be dropped, torch keeps its memory until the
  // copy is done.
  StagedCopy start(const at::Tensor& host) const;

  // The tensor on the device. The calling thread's current stream waits for the copy; the host does not.
  at::Tensor take(StagedCopy copy) const;

 private:
  c10::Device device_;
  std::optional<c10::Stream> stream_;  // none on the CPU
};

}  // namespace esper::device
