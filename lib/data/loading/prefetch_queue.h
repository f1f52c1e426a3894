#pragma once
// Which items are to be made, which are being made, and which lie ready: the state of Prefetch, without its threads and
// their lock. Knows nothing of torch.

#include <algorithm>
#include <cstdint>
#include <exception>
#include <optional>
#include <utility>
#include <vector>

namespace esper::data {

// Item number n lies in slot (n - first) modulo the number of slots.
template <class Item>
class PrefetchQueue {
 public:
  // An item, or what went wrong while it was made.
  struct Made {
    std::optional<Item> item;
    std::exception_ptr failure;
    bool is_ready() const { return item || failure; }
  };
  // An item that somebody is making.
  struct Claim {
    std::uint64_t generation = 0;
    std::int64_t count = 0, number = 0;
  };

  // `ahead`: how many items are claimed and not taken at most.
  explicit PrefetchQueue(int ahead) : slots_(static_cast<std::size_t>(std::max(ahead, 1))) {}

  // From now on first, first + 1, ... below `end` are to be made. What lies ready goes, and so does what is being made.
  void start(std::int64_t first, std::int64_t end) {
    stop();
    first_ = first;
    end_ = end;
    claimed_ = given_ = 0;
    is_running_ = true;
  }
  // Nothing is to be made, and nothing lies ready.
  void stop() {
    is_running_ = false;
    ++generation_;
    for (auto& slot : slots_) slot = {};
  }

  bool is_running() const { return is_running_; }
  // Whether take() is about to give that number, and its making has not failed.
  bool gives(std::int64_t number) const {
    return is_running_ && first_ + given_ == number && number < end_ && !next().failure;
  }

  bool has_work() const {
    const bool has_room = claimed_ - given_ < static_cast<std::int64_t>(slots_.size());
    return is_running_ && has_room && first_ + claimed_ < end_;
  }
  // The next item to make; has_work().
  Claim claim() {
    const std::int64_t count = claimed_++;
    return {generation_, count, first_ + count};
  }
  // False where it was restarted or stopped since the claim: then the item is no longer needed.
  bool put(const Claim& claim, Made&& made) {
    if (claim.generation != generation_) return false;
    slots_[slot_of(claim.count)] = std::move(made);
    return true;
  }

  // What take() gives once it is ready.
  const Made& next() const { return slots_[slot_of(given_)]; }
  // next() is ready. Rethrows what went wrong, and again at each call until the next start.
  Item take() {
    Made& next = slots_[slot_of(given_)];
    if (next.failure) std::rethrow_exception(next.failure);
    Item item = std::move(*next.item);
    next = {};
    ++given_;
    return item;
  }

 private:
  std::size_t slot_of(std::int64_t count) const { return static_cast<std::size_t>(count) % slots_.size(); }

  std::vector<Made> slots_;
  bool is_running_ = false;
  std::uint64_t generation_ = 0;  // of the claims that are still needed
  std::int64_t first_ = 0, end_ = 0;
  std::int64_t claimed_ = 0, given_ = 0;  // since the last start
};

}  // namespace esper::data
