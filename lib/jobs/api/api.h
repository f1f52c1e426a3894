#pragma once
// The daemon's HTTP interface, version 1: docs/daemon.md describes it. On the loop's thread.

#include <functional>

#include "jobs/api/daemon_routes.h"
#include "jobs/api/edit_routes.h"
#include "jobs/api/job_routes.h"
#include "jobs/api/sweep_routes.h"

namespace esper::jobs {

class Api {
 public:
  struct Parts {
    JobStore& store;
    Sweeps& sweeps;
    Queue& queue;
  };
  // `stop` ends the daemon; jobs go on.
  Api(Parts parts, DaemonFacts facts, std::function<void()> stop);

  http::Response answer(const http::Request& request) const;
  const Router& router() const { return router_; }

 private:
  JobRoutes jobs_;
  EditRoutes edits_;
  SweepRoutes sweeps_;
  DaemonRoutes daemon_;
  Router router_;
};

}  // namespace esper::jobs
