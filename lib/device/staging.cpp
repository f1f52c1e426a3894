#include "device/staging.h"

#include <ATen/ops/empty.h>
#include <c10/core/StreamGuard.h>
#include <c10/core/impl/VirtualGuardImpl.h>

#include "device/cuda_table.h"

namespace esper::device {

Staging::Staging(c10::Device device) : device_(device) {
  if (device.is_cuda()) stream_ = cuda().side_stream(device.index());
}

at::Tensor Staging::pin(const at::Tensor& host) const { return stream_ ? host.pin_memory() : host; }

StagedCopy Staging::start(const at::Tensor& host) const {
  if (!stream_) return {host, nullptr};
  constexpr bool kNonBlocking = true;
  const c10::StreamGuard guard(*stream_);
  StagedCopy copy{host.to(host.options().device(device_), kNonBlocking), std::make_unique<c10::Event>(device_.type())};
  copy.done->record(*stream_);
  return copy;
}

// The memory belongs to the side stream's pool; record_stream keeps it from being handed out again while the step still
// reads it.
at::Tensor Staging::take(StagedCopy copy) const {
  if (copy.done == nullptr) return copy.tensor;
  const auto current = c10::impl::VirtualGuardImpl(device_.type()).getStream(device_);
  copy.done->block(current);
  copy.tensor.record_stream(current);
  return copy.tensor;
}

}  // namespace esper::device
