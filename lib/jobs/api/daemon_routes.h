#pragma once
// Requests about the daemon itself. On the loop's thread.

#include <functional>
#include <optional>
#include <string>

#include "jobs/api/router.h"
#include "jobs/queue/queue.h"

namespace esper::jobs {

// Where it listens on 127.0.0.1.
struct LoopbackFacts {
  int port = 0;
  std::string token_file;
};

struct DaemonFacts {
  std::string version;  // esper's
  std::string state_dir;
  std::optional<LoopbackFacts> loopback;
};

class DaemonRoutes {
 public:
  // `stop` ends the daemon; jobs go on.
  DaemonRoutes(JobStore& store, Queue& queue, DaemonFacts facts, std::function<void()> stop)
      : store_(store), queue_(queue), facts_(std::move(facts)), stop_(std::move(stop)) {}

  // The router must not outlive this object.
  void add_to(Router& router);

 private:
  http::Response status() const;

  JobStore& store_;
  Queue& queue_;
  const DaemonFacts facts_;
  const std::function<void()> stop_;
};

}  // namespace esper::jobs
