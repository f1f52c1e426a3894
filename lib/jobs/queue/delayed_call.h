#pragma once
// A function that the loop calls once, a while after the last start(), unless it is cancelled, or destroyed, before.
// On the loop's thread.

#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <cstdint>
#include <functional>
#include <memory>
#include <utility>

#include "base/quantity.h"

namespace esper::jobs {

class DelayedCall {
 public:
  DelayedCall(boost::asio::io_context& loop, base::Duration delay, std::function<void()> function)
      : delay_(delay), function_(std::move(function)), timer_(loop) {}
  DelayedCall(const DelayedCall&) = delete;
  DelayedCall& operator=(const DelayedCall&) = delete;
  ~DelayedCall() { forget(); }

  void start() {
    forget();
    timer_.expires_after(delay_);
    timer_.async_wait([this, wanted = wanted_, number = *wanted_](const boost::system::error_code&) {
      if (*wanted == number) function_();
    });
  }
  void cancel() {
    forget();
    timer_.cancel();
  }

 private:
  // A timer that has expired has its handler queued, which runs even where the timer is cancelled after that.
  void forget() { ++*wanted_; }

  const base::Duration delay_;
  const std::function<void()> function_;
  // The number of the handler that is to call the function; handlers outlive this object.
  const std::shared_ptr<std::uint64_t> wanted_ = std::make_shared<std::uint64_t>(0);
  boost::asio::steady_timer timer_;
};

}  // namespace esper::jobs
