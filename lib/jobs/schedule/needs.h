#pragma once
// What a job needs of the machine, as figures and as text for people. Any thread.

#include <cstdint>
#include <string>
#include <vector>

#include "jobs/job/job.h"
#include "jobs/machine/gpu.h"

namespace esper::jobs {

// What the daemon may give to jobs: what the machine has, less what is kept back.
struct Capacity {
  std::int64_t threads = 1;
  std::int64_t memory_bytes = 0;
  std::vector<Gpu> gpus{};  // of their memory the whole
};

// All threads where the job does not say, and never more than there are.
std::int64_t threads_of(const Resources& needs, const Capacity& capacity);
// As declared, else the larger of the forecast and of what an earlier attempt took, of which never more than there is:
// pages of mapped files count in it, and those the system takes back. 0: not known.
std::int64_t memory_of(const Job& job, const Capacity& capacity);
// On each of its GPUs; 0: not known.
std::int64_t device_memory_of(const Job& job);

// "the run is forecast to take 6.1 GiB (data 1.0 GiB, ...)": where the figure comes from.
std::string memory_text(const Job& job);
std::string device_memory_text(const Job& job);
std::string disk_text(const Job& job);

// Before such a reason of a job that waits.
inline constexpr char kCannotBeginHere[] = "cannot begin here: ";
// Why the job can never begin here, as text with the way out: of memory, of GPUs or of their memory it needs more than
// there is for jobs. Empty: it needs no more.
std::string exceeds(const Job& job, const Capacity& capacity);
// Why the job can never begin on this machine, with the figures and the way out; empty: it can. disk_bytes: what its
// run folder's file system has in all; 0: not known.
std::string never_fits(const Job& job, const Capacity& capacity, std::int64_t disk_bytes);

}  // namespace esper::jobs
