#pragma once
// Items that worker threads make ahead, handed out in the order of their numbers. Knows nothing of what they are and
// nothing of torch, so that its test also runs under the thread sanitizer.

#include <fmt/core.h>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <exception>
#include <functional>
#include <mutex>
#include <optional>
#include <system_error>
#include <thread>
#include <vector>

#include "base/error.h"

namespace esper::data {

// One thread calls it. Item number n lies in slot (n - first) modulo the number of slots.
template <class Item>
class Prefetch {
 public:
  // Called by several threads at a time.
  using Make = std::function<Item(std::int64_t number)>;

  // `ahead`: how many items lie ready at most. Throws Error{kResources} where a thread does not start.
  Prefetch(int num_threads, int ahead, Make make)
      : num_threads_(num_threads), make_(std::move(make)), slots_(static_cast<std::size_t>(std::max(ahead, 1))) {
    start_threads();
  }
  // Waits for the items that are being made at this moment, no more.
  ~Prefetch() { end_threads(); }
  Prefetch(const Prefetch&) = delete;
  Prefetch& operator=(const Prefetch&) = delete;

  // From now on the numbers first, first + 1, ... below `end` are made, and no others: what was made for elsewhere
  // goes.
  void start(std::int64_t first, std::int64_t end) {
    if (threads_.empty()) start_threads();
    const std::lock_guard lock(mutex_);
    drop();
    first_ = first;
    end_ = end;
    claimed_ = given_ = 0;
    is_running_ = true;
    work_cv_.notify_all();
  }
  // Nothing is made until the next start, and nothing lies ready.
  void stop() {
    const std::lock_guard lock(mutex_);
    drop();
  }
  // stop(), and the threads end as well, until the next start. Waits as the destructor does.
  void end_threads() {
    {
      const std::lock_guard lock(mutex_);
      drop();
      is_ending_ = true;
    }
    work_cv_.notify_all();
    for (auto& thread : threads_) thread.join();
    threads_.clear();
  }

  bool is_running() const {
    const std::lock_guard lock(mutex_);
    return is_running_;
  }
  // Whether take() is about to give that number, and its making has not failed.
  bool gives(std::int64_t number) const {
    const std::lock_guard lock(mutex_);
    return is_running_ && first_ + given_ == number && number < end_ && !slots_[slot_of(given_)].failure;
  }

  // The next item; waits for it. Nothing when the deadline (from now) passes, or within kGlance of is_given_up()
  // turning true (null: never); the item can still be taken. Rethrows what went wrong while it was made, and again at
  // each call until the next start. It is running.
  std::optional<Item> take(std::chrono::nanoseconds deadline, const std::function<bool()>& is_given_up = nullptr) {
    using std::chrono::steady_clock;
    const auto until = steady_clock::now() + deadline;
    std::unique_lock lock(mutex_);
    Slot& slot = slots_[slot_of(given_)];
    while (!slot.ready()) {
      const auto left = until - steady_clock::now();
      if (left <= left.zero() || (is_given_up && is_given_up())) return std::nullopt;
      ready_cv_.wait_for(lock, std::min<std::chrono::nanoseconds>(left, kGlance), [&] { return slot.ready(); });
    }
    if (slot.failure) std::rethrow_exception(slot.failure);
    Item item = std::move(*slot.item);
    slot = {};
    ++given_;
    lock.unlock();
    work_cv_.notify_one();
    return item;
  }

 private:
  // A signal wakes no waiting thread.
  static constexpr std::chrono::milliseconds kGlance{20};

  struct Slot {
    std::optional<Item> item;
    std::exception_ptr failure;
    bool ready() const { return item || failure; }
  };

  std::size_t slot_of(std::int64_t count) const { return static_cast<std::size_t>(count) % slots_.size(); }

  // The caller holds the mutex.
  void drop() {
    is_running_ = false;
    ++generation_;
    for (auto& slot : slots_) slot = {};
  }
  bool has_work() const {
    const bool has_room = claimed_ - given_ < static_cast<std::int64_t>(slots_.size());
    return is_running_ && has_room && first_ + claimed_ < end_;
  }

  void start_threads() {
    is_ending_ = false;
    try {
      for (int i = 0; i < num_threads_; ++i) threads_.emplace_back([this] { work(); });
    } catch (const std::system_error& error) {
      const auto started = threads_.size();
      end_threads();
      throw base::Error(base::ExitCode::kResources, fmt::format("data.workers: thread {} of {} does not start: {}",
                                                                started + 1, num_threads_, error.what()));
    }
  }

  void work() {
    std::unique_lock lock(mutex_);
    for (;;) {
      work_cv_.wait(lock, [&] { return is_ending_ || has_work(); });
      if (is_ending_) return;
      const auto generation = generation_;
      const auto count = claimed_++, number = first_ + count;
      lock.unlock();
      Slot result;
      try {
        result.item = make_(number);
      } catch (...) {
        result.failure = std::current_exception();
      }
      lock.lock();
      if (generation != generation_) continue;
      slots_[slot_of(count)] = std::move(result);
      ready_cv_.notify_one();
    }
  }

  const int num_threads_;
  const Make make_;
  mutable std::mutex mutex_;
  std::condition_variable work_cv_, ready_cv_;
  std::vector<Slot> slots_;
  bool is_ending_ = false, is_running_ = false;
  std::uint64_t generation_ = 0;  // a result of an older one is dropped
  std::int64_t first_ = 0, end_ = 0;
  std::int64_t claimed_ = 0, given_ = 0;  // since the last start
  std::vector<std::thread> threads_;
};

}  // namespace esper::data
