#pragma once
// The daemon's process: one thread, one loop. It sleeps unless someone asks or a job's processes end.

#include <string>

#include "base/descriptor.h"
#include "jobs/daemon/daemon_config.h"

namespace esper::jobs {

struct DaemonOptions {
  std::string state_dir;  // absolute; made if needed, mode 0700
  std::string program;    // esper's own file, for the jobs
  std::string version;    // of esper
  DaemonConfig config{};
  // Takes one line when clients can connect: "ready". Not open: nobody waits for it.
  base::Descriptor ready{};
};

// Where the daemon of a state folder listens.
std::string socket_of(const std::string& state_dir);

// Until a client, SIGTERM or SIGINT stops it; running jobs go on then. Throws base::Error: another
// daemon has the folder (kTryAgain), the database cannot be used (kCheckpoint).
void run_daemon(DaemonOptions options);

}  // namespace esper::jobs
