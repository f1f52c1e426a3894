#pragma once
// Requests about jobs: submit, list, show, stop and continue. On the loop's thread.

#include "jobs/api/router.h"
#include "jobs/queue/queue.h"

namespace esper::jobs {

class JobRoutes {
 public:
  JobRoutes(JobStore& store, Queue& queue) : store_(store), queue_(queue) {}

  // The router must not outlive this object.
  void add_to(Router& router);

 private:
  http::Response submit(const http::Request& request);
  http::Response list(const http::Request& request);
  http::Response show(JobId id);
  http::Response config(JobId id);
  http::Response act(const http::Request& request, JobId id, JobAction action);

  JobStore& store_;
  Queue& queue_;
};

}  // namespace esper::jobs
