#pragma once
// The small process between the daemon and one attempt of a job: it starts the trainer, passes the first request to
// stop on to it, and records how it ended. It outlives the daemon. If the shim itself ends, the kernel sends the
// trainer SIGTERM, at which it saves and stops.

#include <signal.h>

#include "jobs/process/job_files.h"

namespace esper::jobs {

// The shim's own numbers for the job's lock and the writing end of its FIFO, which the trainer gets as well.
inline constexpr int kShimLock = 3, kShimAlive = 4;

// Signals to the shim: the trainer is to save and stop, which may be repeated; all of the trainer's processes are to be
// killed.
inline constexpr int kShimStop = SIGTERM, kShimKill = SIGUSR1;

// By the daemon: starts the shim of the attempt in `folder`, which is written already. `lock` comes from try_lock().
// The shim's process id. Throws std::system_error and base::IoError.
pid_t start_shim(const JobFolder& folder, const std::string& program, base::Descriptor lock);

// What the shim's process does; its exit status.
int run_shim(const JobFolder& folder);

}  // namespace esper::jobs
