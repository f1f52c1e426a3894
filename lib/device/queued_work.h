#pragma once
// Bounds how far the host is ahead of a GPU: each piece of work that is queued there (a step, a batch) holds memory
// until it is done, and whoever reads the GPU waits for all of them. Training thread.

#include <c10/core/Device.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <vector>

#include "base/quantity.h"

namespace esper::device {

class QueuedWork {
 public:
  // Events in a stream, by number, as CUDA's: one is complete once all work that was queued before it is done.
  struct Events {
    std::function<void(std::size_t event)> record;       // behind all that is queued now; replaces an earlier one
    std::function<void(std::size_t event)> synchronize;  // the host waits until it is complete
    std::function<double(std::size_t from, std::size_t to)> elapsed_ms;  // between two that are complete
  };

  // most: pieces that may be queued; where so many take less than `span` on the GPU, as many as take that long. A span
  // of 0: never more than `most`.
  QueuedWork(std::size_t most, base::Duration span, Events events);
  // With events in the calling thread's current stream. On the CPU, where nothing is queued, it does nothing.
  QueuedWork(std::size_t most, base::Duration span, c10::Device device);

  // A piece was queued. Waits until no more than those that may be are left. Pieces of microseconds share one event
  // among many.
  void add();

 private:
  void wait_for_oldest();

  std::size_t most_;
  double span_ms_;               // that an event stands for
  Events events_;                // empty on the CPU
  std::vector<double> pieces_;   // of each event: those since the event before it
  double unrecorded_ = 0;        // pieces since the last event
  double per_event_ = 1;         // pieces
  std::uint64_t recorded_ = 0;   // events so far
  std::uint64_t completed_ = 0;  // of those, events that were waited for
};

}  // namespace esper::device
