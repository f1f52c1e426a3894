#pragma once
// Bounds how far the host is ahead of a card: each piece of work that is queued there (a step, a batch) holds memory
// until it is done, and whoever reads the card waits for all of them. Training thread.

#include <c10/core/Device.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <vector>

#include "base/quantity.h"

namespace esper::device {

class QueuedWork {
 public:
  // Marks in a queue, by number. One is passed once all work that was queued before it is done.
  struct Marks {
    std::function<void(std::size_t mark)> record;  // behind all that is queued now; replaces an earlier one
    std::function<void(std::size_t mark)> wait;    // the host, until it is passed
    std::function<double(std::size_t from, std::size_t to)> milliseconds;  // between two that are passed
  };

  // most: pieces that may be queued; where so many take less than `span` on the card, as many as take that long. A span
  // of 0: never more than `most`.
  QueuedWork(std::size_t most, base::Duration span, Marks marks);
  // With events in the calling thread's current stream. On the CPU, where nothing is queued, it does nothing.
  QueuedWork(std::size_t most, base::Duration span, c10::Device device);

  // A piece was queued. Waits until no more than those that may be are left. Pieces of microseconds have one mark for
  // many of them.
  void add();

 private:
  void pass_oldest();

  std::size_t most_;
  double span_ms_;              // of a mark
  Marks marks_;                 // empty on the CPU
  std::vector<double> pieces_;  // of each mark: those between the mark before and it
  double unmarked_ = 0;         // pieces since the last mark
  double per_mark_ = 1;         // pieces
  std::uint64_t recorded_ = 0;  // marks so far
  std::uint64_t passed_ = 0;    // of those, marks that were waited for
};

}  // namespace esper::device
