#pragma once
// Requests about sweeps: submit, list, show, the best configuration, cancel, let begin. On the loop's thread.

#include <memory>

#include "jobs/api/router.h"
#include "jobs/queue/queue.h"
#include "jobs/store/sweep_store.h"
#include "jobs/sweeps/sweeps.h"

namespace esper::jobs {

class SweepRoutes {
 public:
  SweepRoutes(JobStore& store, Sweeps& sweeps, Queue& queue)
      : store_(store.database()), sweeps_(sweeps), queue_(queue) {}

  // The router must not outlive this object.
  void add_to(Router& router);

 private:
  struct Admission;  // of a sweep whose trials are being checked
  http::Response submit(const http::Request& request);
  http::Response check_on(const std::shared_ptr<Admission>& admission);
  http::Response store(const Admission& admission);
  http::Response list(const http::Request& request);
  http::Response show(SweepId id);
  http::Response best(SweepId id);
  using Action = base::Expected<SweepRecord> (Sweeps::*)(SweepId, const Asked&);
  http::Response act(const http::Request& request, SweepId id, Action action, const std::string& what);

  SweepStore store_;
  Sweeps& sweeps_;
  Queue& queue_;
};

}  // namespace esper::jobs
