#include "device/staging.h"

#include <c10/core/StreamGuard.h>

#include "device/cuda_table.h"
#include "device/nonthrowing_free.h"
#include "device/side_stream.h"

namespace esper::device {
namespace {

// EventFlag::BACKEND_DEFAULT is the one whose events know the time (c10/core/impl/InlineEvent.h, elapsedTime).
constexpr auto kTimed = c10::EventFlag::BACKEND_DEFAULT;

}  // namespace

CopyEvents::CopyEvents(c10::DeviceType type)
    : copy_begin(type, kTimed), copy_end(type, kTimed), wait_begin(type, kTimed), wait_end(type, kTimed) {}

Staging::Staging(c10::Device device, Stream stream) : device_(device), mode_(stream) {
  if (device.is_cuda() && stream == Stream::kSide) side_ = side_stream(device, SideStream::kCopies);
}

StagedCopy Staging::start(std::span<const at::Tensor> host) {
  if (device_.is_cpu()) return {{host.begin(), host.end()}, nullptr};
  record_finished();
  StagedCopy copy;
  if (spare_.empty()) {
    copy.events = std::make_unique<CopyEvents>(device_.type());
  } else {
    copy.events = std::move(spare_.front());
    spare_.pop_front();
  }
  const auto stream = side_ ? *side_ : current_stream(device_);
  const c10::StreamGuard guard(stream);
  copy.events->copy_begin.record(stream);
  for (const at::Tensor& tensor : host) copy.tensors.push_back(tensor.to(device_, /*non_blocking=*/true));
  copy.events->copy_end.record(stream);
  return copy;
}

// The memory belongs to the side stream's pool; record_stream keeps it from being handed out again while the step still
// reads it.
std::vector<at::Tensor> Staging::take(StagedCopy copy) {
  if (copy.events == nullptr) return std::move(copy.tensors);
  const auto current = current_stream(device_);
  copy.events->wait_begin.record(current);
  copy.events->copy_end.block(current);
  copy.events->wait_end.record(current);
  for (const at::Tensor& tensor : copy.tensors) {
    tensor.record_stream(current);
    make_free_nonthrowing(tensor, MemoryOf::kCard);
  }
  running_.push_back(std::move(copy.events));
  return std::move(copy.tensors);
}

void Staging::record_finished() {
  while (!running_.empty() && running_.front()->wait_end.query()) {
    const CopyEvents& events = *running_.front();
    const double copy_ms = events.copy_begin.elapsedTime(events.copy_end);
    times_.copy_ms += copy_ms;
    times_.wait_ms += mode_ == Stream::kCurrent ? copy_ms : events.wait_begin.elapsedTime(events.wait_end);
    spare_.push_back(std::move(running_.front()));
    running_.pop_front();
  }
}

CopyTimes Staging::take_times() {
  record_finished();
  return std::exchange(times_, {});
}

}  // namespace esper::device
