#pragma once
// The daemon's HTTP interface, version 1: docs/daemon.md describes it. On the loop's thread.

#include <functional>
#include <string>

#include "jobs/api/daemon_routes.h"
#include "jobs/api/edit_routes.h"
#include "jobs/api/job_routes.h"
#include "jobs/api/progress_routes.h"
#include "jobs/api/sweep_routes.h"

namespace esper::jobs {

class Api {
 public:
  struct Parts {
    JobStore& store;
    Sweeps& sweeps;
    Queue& queue;
    ProgressReader& progress;
  };
  struct Callbacks {
    DaemonRoutes::Callbacks daemon;
    std::function<void()> stream_begins;  // before a client begins to listen to events
  };
  Api(Parts parts, DaemonFacts facts, Callbacks callbacks);

  http::Response answer(const http::Request& request) const;
  const Router& router() const { return router_; }

 private:
  http::Response answer_of(const std::function<http::Response()>& part) const;
  http::Response refusal_of(const DatabaseError& error) const;

  const std::string database_;  // its file
  JobRoutes jobs_;
  EditRoutes edits_;
  SweepRoutes sweeps_;
  ProgressRoutes progress_;
  DaemonRoutes daemon_;
  Router router_;
};

}  // namespace esper::jobs
