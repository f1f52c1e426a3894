#pragma once
// Which queued jobs begin now. Pure functions. Any thread.

#include <cstdint>
#include <string>
#include <vector>

#include "jobs/job/job.h"

namespace esper::jobs {

// What the daemon may give to jobs.
struct Capacity {
  std::int64_t threads = 1;
  std::int64_t memory_bytes = 0;
  std::vector<std::int64_t> gpus{};  // their numbers
};

struct Placement {
  struct Start {
    JobId job = 0;
    std::vector<std::int64_t> gpus{};
  };
  struct Wait {
    JobId job = 0;
    std::string reason{};  // "waits for 2 of 4 threads"
  };
  std::vector<Start> starts{};
  std::vector<JobId> yields{};  // running ones that make room for a waiting job of a higher priority
  std::vector<Wait> waits{};    // of those that were looked at
};

// The threads of a job: all of them where it does not say, and never more than there are.
std::int64_t threads_of(const Resources& needs, const Capacity& capacity);

// `ready`: in their order, higher priorities first. `active`: what has resources now, also what is already stopping.
// Strictly in order: behind the first job that does not fit, nothing begins that could take what it waits for.
Placement place(const std::vector<Job>& ready, const std::vector<Job>& active, const Capacity& capacity);

}  // namespace esper::jobs
