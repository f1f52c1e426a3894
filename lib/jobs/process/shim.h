#pragma once
// The small process between the daemon and one attempt of a job: it starts the trainer, tells it to stop when it is
// told to, and leaves word of how it ended. It outlives the daemon. The trainer is told to save and stop if it ends
// itself.

#include "jobs/process/job_files.h"

namespace esper::jobs {

// The shim's own numbers for the job's lock and the writing end of its FIFO, which the trainer gets as well.
inline constexpr int kShimLock = 3, kShimAlive = 4;

// By the daemon: starts the shim of the attempt in `folder`, which is written already. `lock` comes from try_lock().
// The shim's process id. Throws std::system_error and base::IoError.
pid_t start_shim(const JobFolder& folder, const std::string& program, base::Descriptor lock);

// The shim's whole life; its exit status.
int run_shim(const JobFolder& folder);

}  // namespace esper::jobs
