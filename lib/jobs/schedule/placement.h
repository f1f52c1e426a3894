#pragma once
// Which queued jobs begin now. Pure functions. Any thread.

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "jobs/job/job.h"
#include "jobs/schedule/needs.h"

namespace esper::jobs {

// What a job has of the machine, and where it writes.
struct JobUse {
  std::int64_t resident_bytes = 0;  // memory that its processes alone have
  std::uint64_t disk = 0;           // Disk::id of its run folder's file system; 0: not known
  std::int64_t written_bytes = 0;   // in its run folder
};

// The machine at one moment. What is kept back is taken off each figure.
struct Machine {
  Capacity capacity{};
  std::int64_t free_memory_bytes = 0;                       // that no process has taken
  std::map<std::int64_t, std::int64_t> free_gpu_bytes{};    // by Gpu::index
  std::map<std::uint64_t, std::int64_t> free_disk_bytes{};  // by Disk::id
  std::map<JobId, JobUse> uses{};                           // of all jobs that are asked about
};

struct Placement {
  struct Start {
    JobId job = 0;
    std::vector<std::int64_t> gpus{};
  };
  struct Wait {
    JobId job = 0;
    std::string reason{};  // "waits for threads: needs 3, 2 of 4 are free"
  };
  std::vector<Start> starts{};
  std::vector<JobId> yields{};  // running ones that make room for a waiting job of a higher priority
  JobId yields_for = 0;         // that job; 0: none
  std::vector<Wait> waits{};    // of those that were looked at
  // One of them waits for what others than our jobs have taken: no event reports when it is free.
  bool look_again = false;
};

// `ready`: in their order, higher priorities first. `active`: what has resources now, also what is already stopping.
// In order: what a waiting job needs is kept for it, and all of what it lacks, so that nothing behind it delays it. A
// job that would not even fit once all active ones have ended keeps nothing: it waits for others than our jobs.
Placement place(const std::vector<Job>& ready, const std::vector<Job>& active, const Machine& machine);

}  // namespace esper::jobs
