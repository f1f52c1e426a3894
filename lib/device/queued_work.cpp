#include "device/queued_work.h"

#include <c10/core/Event.h>

#include <algorithm>
#include <cmath>
#include <deque>
#include <memory>
#include <utility>

#include "base/text/rounding.h"
#include "device/cuda_table.h"

namespace esper::device {
namespace {

QueuedWork::Events events_on(c10::Device device, std::size_t count) {
  if (!device.is_cuda()) return {};
  const auto events = std::make_shared<std::deque<c10::Event>>();
  // With times, as in staging.cpp.
  for (std::size_t i = 0; i < count; ++i) events->emplace_back(device.type(), c10::EventFlag::BACKEND_DEFAULT);
  return {[=](std::size_t event) { (*events)[event].record(current_stream(device)); },
          [=](std::size_t event) { (*events)[event].synchronize(); },
          [=](std::size_t from, std::size_t to) { return (*events)[from].elapsedTime((*events)[to]); }};
}

}  // namespace

// One event more than may be pending: the last one that was waited for, from which the time to the next one is
// measured.
QueuedWork::QueuedWork(std::size_t most, base::Duration span, Events events)
    : most_(most),
      span_ms_(base::milliseconds(span) / static_cast<double>(most)),
      events_(std::move(events)),
      pieces_(most + 1) {}

QueuedWork::QueuedWork(std::size_t most, base::Duration span, c10::Device device)
    : QueuedWork(most, span, events_on(device, most + 1)) {}

void QueuedWork::add() {
  if (!events_.record) return;
  if (++unrecorded_ < per_event_) return;
  if (recorded_ - completed_ == most_) wait_for_oldest();
  const std::size_t event = recorded_ % pieces_.size();
  events_.record(event);
  pieces_[event] = std::exchange(unrecorded_, 0);
  ++recorded_;
}

// The time between events on the GPU sets how many pieces the next events stand for; host time does not show how long
// queued work takes. Where pieces take longer, or the GPU was idle, the number falls at once; it grows at most
// twofold.
void QueuedWork::wait_for_oldest() {
  constexpr double kLeastMs = 1e-6;
  const std::size_t event = completed_ % pieces_.size();
  events_.synchronize(event);
  if (completed_ > 0) {
    const double ms = events_.elapsed_ms((completed_ - 1) % pieces_.size(), event);
    const double wanted = std::floor(pieces_[event] * span_ms_ / std::max(ms, kLeastMs));
    per_event_ = std::clamp(wanted, 1.0, 2 * per_event_);
  }
  ++completed_;
}

}  // namespace esper::device
