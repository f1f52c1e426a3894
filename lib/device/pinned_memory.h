#pragma once
// Page-locked memory of the host, from which a copy to a GPU need not be waited for. Any thread.

#include <ATen/core/Tensor.h>
#include <c10/core/ScalarType.h>
#include <c10/util/ArrayRef.h>

#include <atomic>
#include <mutex>
#include <string>

namespace esper::device {

// A page-locked tensor without contents, whose end throws nothing (nonthrowing_free.h). Throws c10::Error where the
// driver refuses it.
at::Tensor empty_pinned(at::IntArrayRef sizes, at::ScalarType type);

// Where the driver refuses it, pageable memory from then on: the batches are the same, and the host waits for their
// copies.
class PinnedMemory {
 public:
  // A tensor without contents.
  at::Tensor empty(at::IntArrayRef sizes, at::ScalarType type);
  // Why page-locked memory was refused; empty: it was not.
  std::string refusal() const;

 private:
  void keep_refusal(std::string reason);

  std::atomic<bool> is_refused_ = false;
  mutable std::mutex mutex_;
  std::string refusal_;
};

}  // namespace esper::device
