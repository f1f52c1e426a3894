#pragma once
// What is to happen unless something else happens before. On the loop's thread. For this room's .cpp files: it includes
// Boost.

#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <chrono>
#include <utility>

#include "base/quantity.h"

namespace esper::http {

class Timeout {
 public:
  explicit Timeout(boost::asio::io_context& loop) : timer_(loop) {}

  // Instead of what was set before. `passed` is called from the loop, and keeps what this belongs to alive.
  template <class Passed>
  void set(base::Duration time, Passed passed) {
    timer_.expires_after(time);
    timer_.async_wait([this, passed = std::move(passed)](const boost::system::error_code& error) {
      // A wait that had already ended when the deadline was moved arrives here all the same.
      if (!error && timer_.expiry() <= std::chrono::steady_clock::now()) passed();
    });
  }
  void cancel() { timer_.cancel(); }

 private:
  boost::asio::steady_timer timer_;
};

}  // namespace esper::http
