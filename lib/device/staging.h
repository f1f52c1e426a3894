#pragma once
// Copies batches to the device during the step: from pinned memory, on its own stream. Training thread.

#include <ATen/core/Tensor.h>
#include <c10/core/Device.h>
#include <c10/core/Event.h>
#include <c10/core/Stream.h>

#include <deque>
#include <memory>
#include <optional>
#include <span>
#include <vector>

namespace esper::device {

// Events with times, without a wait: they are queried later.
struct CopyEvents {
  explicit CopyEvents(c10::DeviceType type);
  c10::Event copy_begin, copy_end;  // on the stream that copies
  c10::Event wait_begin, wait_end;  // on the stream that computes, around its wait for the copy
};

// A copy that may still be under way.
struct StagedCopy {
  std::vector<at::Tensor> tensors;     // on the device; not to be read before take()
  std::unique_ptr<CopyEvents> events;  // null on the CPU
};

struct CopyTimes {
  double copy_ms = 0;  // that the copies took on the device
  double wait_ms = 0;  // that the computing stream stood still for them
};

// On the CPU everything here returns the tensors that it was given: nothing is copied.
class Staging {
 public:
  enum class Stream {
    kSide,     // copies run concurrently with the current stream
    kCurrent,  // and in front of it
  };
  Staging(c10::Device device, Stream stream);

  // Queues the copies of tensors that lie in pinned memory and returns at once; pageable memory is copied too, but the
  // host waits for that. The sources may be dropped: torch does not reuse their pinned memory before the copy is
  // done (CachingHostAllocator_recordEvent, in ATen's copy to a device).
  StagedCopy start(std::span<const at::Tensor> host);

  // The tensors on the device. The calling thread's current stream waits for the copy; the host does not.
  std::vector<at::Tensor> take(StagedCopy copy);

  // Of the finished copies that were not reported yet. After a synchronize() that is all of them.
  CopyTimes take_times();

 private:
  void record_finished();

  c10::Device device_;
  Stream mode_;
  std::optional<c10::Stream> side_;  // kSide on a GPU
  std::deque<std::unique_ptr<CopyEvents>> running_, spare_;
  CopyTimes times_;
};

}  // namespace esper::device
