#pragma once
// Requests that change what was submitted: fields of a job, and settings of its run while it trains. On the loop's
// thread.

#include "jobs/api/router.h"
#include "jobs/queue/queue.h"

namespace esper::jobs {

class EditRoutes {
 public:
  EditRoutes(JobStore& store, Queue& queue) : store_(store), queue_(queue) {}

  // The router must not outlive this object.
  void add_to(Router& router);

 private:
  http::Response edit(const http::Request& request, JobId id);
  http::Response set(const http::Request& request, JobId id);
  http::Response set_in_run(const Job& job, const std::vector<std::string>& assignments, std::int64_t uid);

  JobStore& store_;
  Queue& queue_;
};

}  // namespace esper::jobs
