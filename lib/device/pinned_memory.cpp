#include "device/pinned_memory.h"

#include <ATen/ops/empty.h>
#include <c10/core/TensorOptions.h>
#include <c10/util/Exception.h>

#include <utility>

#include "base/fault.h"
#include "device/nonthrowing_free.h"

namespace esper::device {

at::Tensor empty_pinned(at::IntArrayRef sizes, at::ScalarType type) {
  at::Tensor tensor = at::empty(sizes, at::TensorOptions(type).pinned_memory(true));
  make_free_nonthrowing(tensor, MemoryOf::kHost);
  return tensor;
}

at::Tensor PinnedMemory::empty(at::IntArrayRef sizes, at::ScalarType type) {
  if (!is_refused_.load(std::memory_order_relaxed)) {
    try {
      TORCH_CHECK(!base::fault::hit("device.pinned_memory"), "fault point device.pinned_memory");
      return empty_pinned(sizes, type);
    } catch (const c10::Error& error) {
      const std::string text = error.what_without_backtrace();
      keep_refusal(text.substr(0, text.find('\n')));
    }
  }
  return at::empty(sizes, at::TensorOptions(type));
}

void PinnedMemory::keep_refusal(std::string reason) {
  const std::lock_guard lock(mutex_);
  if (refusal_.empty()) refusal_ = std::move(reason);
  is_refused_ = true;
}

std::string PinnedMemory::refusal() const {
  const std::lock_guard lock(mutex_);
  return refusal_;
}

}  // namespace esper::device
