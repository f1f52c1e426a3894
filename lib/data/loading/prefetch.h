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
#include <utility>
#include <vector>

#include "base/error.h"
#include "data/loading/prefetch_queue.h"

namespace esper::data {

// One thread calls it.
template <class Item>
class Prefetch {
 public:
  // Called by several threads at a time.
  using Make = std::function<Item(std::int64_t number)>;

  // `ahead`: how many items lie ready at most. Throws Error{kResources} where a thread does not start.
  Prefetch(int num_threads, int ahead, Make make) : num_threads_(num_threads), make_(std::move(make)), queue_(ahead) {
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
    queue_.start(first, end);
    work_cv_.notify_all();
  }
  // Nothing is made until the next start, and nothing lies ready.
  void stop() {
    const std::lock_guard lock(mutex_);
    queue_.stop();
  }
  // stop(), and the threads end as well, until the next start. Waits as the destructor does.
  void end_threads() {
    {
      const std::lock_guard lock(mutex_);
      queue_.stop();
      is_ending_ = true;
    }
    work_cv_.notify_all();
    for (auto& thread : threads_) thread.join();
    threads_.clear();
  }

  bool is_running() const {
    const std::lock_guard lock(mutex_);
    return queue_.is_running();
  }
  // Whether take() is about to give that number, and its making has not failed.
  bool gives(std::int64_t number) const {
    const std::lock_guard lock(mutex_);
    return queue_.gives(number);
  }

  // The next item; waits for it. Nothing when the deadline (from now) passes, or within kGlance of is_given_up()
  // turning true (null: never); the item can still be taken. Rethrows what went wrong while it was made, and again at
  // each call until the next start. It is running.
  std::optional<Item> take(std::chrono::nanoseconds deadline, const std::function<bool()>& is_given_up = nullptr) {
    using std::chrono::steady_clock;
    const auto until = steady_clock::now() + deadline;
    std::unique_lock lock(mutex_);
    const auto& next = queue_.next();
    while (!next.is_ready()) {
      const auto left = until - steady_clock::now();
      if (left <= left.zero() || (is_given_up && is_given_up())) return std::nullopt;
      ready_cv_.wait_for(lock, std::min<std::chrono::nanoseconds>(left, kGlance), [&] { return next.is_ready(); });
    }
    Item item = queue_.take();
    lock.unlock();
    work_cv_.notify_one();
    return item;
  }

 private:
  // A signal wakes no waiting thread.
  static constexpr std::chrono::milliseconds kGlance{20};

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
      work_cv_.wait(lock, [&] { return is_ending_ || queue_.has_work(); });
      if (is_ending_) return;
      const auto claim = queue_.claim();
      lock.unlock();
      auto made = make(claim.number);
      lock.lock();
      if (queue_.put(claim, std::move(made))) ready_cv_.notify_one();
    }
  }

  typename PrefetchQueue<Item>::Made make(std::int64_t number) const {
    typename PrefetchQueue<Item>::Made made;
    try {
      made.item = make_(number);
    } catch (...) {
      made.failure = std::current_exception();
    }
    return made;
  }

  const int num_threads_;
  const Make make_;
  mutable std::mutex mutex_;
  std::condition_variable work_cv_, ready_cv_;
  PrefetchQueue<Item> queue_;
  bool is_ending_ = false;
  std::vector<std::thread> threads_;
};

}  // namespace esper::data
