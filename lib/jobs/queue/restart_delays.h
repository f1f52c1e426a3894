#pragma once
// Jobs that wait for a while before they are started again. On the loop's thread; no timer while none waits.

#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <chrono>
#include <functional>
#include <map>

#include "base/quantity.h"
#include "jobs/job/job.h"

namespace esper::jobs {

class RestartDelays {
 public:
  // `over` is called from the loop when a delay has passed.
  RestartDelays(boost::asio::io_context& loop, std::function<void()> over) : timer_(loop), over_(std::move(over)) {}

  void add(JobId job, base::Duration delay);
  bool has(JobId job) const { return until_.contains(job); }
  // Forgets those whose delay has passed, and waits for the next one.
  void update();

 private:
  boost::asio::steady_timer timer_;
  const std::function<void()> over_;
  std::map<JobId, std::chrono::steady_clock::time_point> until_;
};

}  // namespace esper::jobs
