#pragma once
// `esper bench --scenario daemon`: what the queue costs. Without the engine in this process.

#include <string>

#include "config/run_config.h"

namespace esper {

struct DaemonBench {
  config::RunConfig config{};  // the training that is run through the queue and alone, in turns
  std::string commit{};
  int rounds = 5;      // of the trainings
  int queued = 10000;  // jobs in the full queue
  int idle_s = 60;
  bool json = false;
};

// The exit status. Throws base::Error.
int bench_daemon(const DaemonBench& bench);

}  // namespace esper
