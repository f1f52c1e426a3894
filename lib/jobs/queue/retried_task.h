#pragma once
// A function that the loop calls once for all requests of one of its turns. What it cannot write or read, as on a full
// disk, it is to do again: where it throws a base::Error, it is called again each second until it does not. On the
// loop's thread.

#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <functional>
#include <string>

namespace esper::jobs {

class RetriedTask {
 public:
  RetriedTask(boost::asio::io_context& loop, std::function<void()> task)
      : loop_(loop), task_(std::move(task)), again_(loop) {}

  void request();
  // After a second.
  void request_later();

 private:
  void run();

  boost::asio::io_context& loop_;
  const std::function<void()> task_;
  boost::asio::steady_timer again_;
  bool is_requested_ = false;
  std::string failure_;  // of the last call; empty: none
};

}  // namespace esper::jobs
