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

QueuedWork::Marks events_on(c10::Device device, std::size_t count) {
  if (!device.is_cuda()) return {};
  const auto events = std::make_shared<std::deque<c10::Event>>();
  // With times, as in staging.cpp.
  for (std::size_t i = 0; i < count; ++i) events->emplace_back(device.type(), c10::EventFlag::BACKEND_DEFAULT);
  return {[=](std::size_t mark) { (*events)[mark].record(current_stream(device)); },
          [=](std::size_t mark) { (*events)[mark].synchronize(); },
          [=](std::size_t from, std::size_t to) { return (*events)[from].elapsedTime((*events)[to]); }};
}

}  // namespace

// One mark more than may be waited for: the last one that was passed, from which the time to the next one is measured.
QueuedWork::QueuedWork(std::size_t most, base::Duration span, Marks marks)
    : most_(most),
      span_ms_(base::milliseconds(span) / static_cast<double>(most)),
      marks_(std::move(marks)),
      pieces_(most + 1) {}

QueuedWork::QueuedWork(std::size_t most, base::Duration span, c10::Device device)
    : QueuedWork(most, span, events_on(device, most + 1)) {}

void QueuedWork::add() {
  if (!marks_.record) return;
  if (++unmarked_ < per_mark_) return;
  if (recorded_ - passed_ == most_) pass_oldest();
  const std::size_t mark = recorded_ % pieces_.size();
  marks_.record(mark);
  pieces_[mark] = std::exchange(unmarked_, 0);
  ++recorded_;
}

// The card's own time tells how many pieces a mark is to have, for the host's says nothing while it only queues. A
// pause, or pieces that take longer, make it few at once; it grows step by step.
void QueuedWork::pass_oldest() {
  constexpr double kLeastMs = 1e-6;
  const std::size_t mark = passed_ % pieces_.size();
  marks_.wait(mark);
  if (passed_ > 0) {
    const double ms = marks_.milliseconds((passed_ - 1) % pieces_.size(), mark);
    const double wanted = std::floor(pieces_[mark] * span_ms_ / std::max(ms, kLeastMs));
    per_mark_ = std::clamp(wanted, 1.0, 2 * per_mark_);
  }
  ++passed_;
}

}  // namespace esper::device
