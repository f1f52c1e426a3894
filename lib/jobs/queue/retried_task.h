#pragma once
// A function that the loop calls once for all requests of one of its turns. What it cannot write or read, as on a full
// disk, it is to do again: where it throws a base::Error, it is called again each second until it does not. On the
// loop's thread.

#include <boost/asio/io_context.hpp>
#include <functional>
#include <string>

#include "jobs/queue/delayed_call.h"

namespace esper::jobs {

class RetriedTask {
 public:
  RetriedTask(boost::asio::io_context& loop, std::function<void()> task);

  void request();
  // After a second.
  void request_later() { again_.start(); }

 private:
  void run();

  boost::asio::io_context& loop_;
  const std::function<void()> task_;
  DelayedCall again_;
  bool is_requested_ = false;
  std::string failure_;  // of the last call; empty: none
};

}  // namespace esper::jobs
