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
  struct Callbacks {
    std::function<void()> stop;     // ends the daemon; jobs go on
    std::function<void()> drained;  // no job begins any more
  };
  DaemonRoutes(JobStore& store, Queue& queue, DaemonFacts facts, Callbacks callbacks)
      : store_(store), queue_(queue), facts_(std::move(facts)), callbacks_(std::move(callbacks)) {}

  // The router must not outlive this object.
  void add_to(Router& router);

 private:
  http::Response status() const;

  JobStore& store_;
  Queue& queue_;
  const DaemonFacts facts_;
  const Callbacks callbacks_;
};

}  // namespace esper::jobs
