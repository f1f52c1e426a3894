#pragma once
// The daemon's HTTP interface, version 1: docs/daemon.md lists it. On the loop's thread.

#include <functional>
#include <string>

#include "http/message.h"
#include "jobs/daemon/queue.h"

namespace esper::jobs {

struct DaemonFacts {
  std::string version;  // esper's
  std::string state_dir;
};

class Api {
 public:
  // `stop` ends the daemon; jobs go on.
  Api(JobStore& store, Queue& queue, DaemonFacts facts, std::function<void()> stop)
      : store_(store), queue_(queue), facts_(std::move(facts)), stop_(std::move(stop)) {}

  http::Response answer(const http::Request& request);

 private:
  http::Response answer_job(const http::Request& request, JobId id, const std::string& what);
  http::Response submit(const http::Request& request);
  http::Response list(const http::Request& request);
  http::Response change(const http::Request& request, JobId id);
  http::Response daemon() const;
  Job with_reason(Job job) const;

  JobStore& store_;
  Queue& queue_;
  const DaemonFacts facts_;
  const std::function<void()> stop_;
};

}  // namespace esper::jobs
