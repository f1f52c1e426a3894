#pragma once
// A function that the loop calls once, a while after the last start(), unless it is cancelled before. On the loop's
// thread.

#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <functional>
#include <utility>

#include "base/quantity.h"

namespace esper::jobs {

class DelayedCall {
 public:
  DelayedCall(boost::asio::io_context& loop, base::Duration delay, std::function<void()> function)
      : delay_(delay), function_(std::move(function)), timer_(loop) {}
  DelayedCall(const DelayedCall&) = delete;
  DelayedCall& operator=(const DelayedCall&) = delete;

  void start() {
    timer_.expires_after(delay_);
    timer_.async_wait([this](const boost::system::error_code& error) {
      if (!error) function_();
    });
  }
  void cancel() { timer_.cancel(); }

 private:
  const base::Duration delay_;
  const std::function<void()> function_;
  boost::asio::steady_timer timer_;
};

}  // namespace esper::jobs
