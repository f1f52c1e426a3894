#pragma once
// What can be given to jobs at one moment, and what is left of it once some have theirs. Any thread.

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "jobs/schedule/placement.h"

namespace esper::jobs {

class Pool {
 public:
  // What is free and what the active jobs hold, less what they hold or may still take. Borrows the machine.
  Pool(const Machine& machine, const std::vector<Job>& active);

  void take(const Job& job, const std::vector<std::int64_t>& gpus);
  // Of an active job.
  void give_back(const Job& job);
  // Takes what the job needs; of what it lacks, all that is left.
  void keep_for(const Job& job);
  // Those that the job gets: of the free GPUs with enough free memory the ones with the least. Nothing: too few.
  std::optional<std::vector<std::int64_t>> gpus_for(const Job& job) const;
  bool has_threads() const { return threads_ > 0; }

  // What the job lacks, as a reason with figures; empty: it fits.
  std::string lacking(const Job& job) const;
  // Whether it lacks what others than our jobs have taken, and would fit without them.
  bool others_take_of(const Job& job) const;

 private:
  JobUse use_of(const Job& job) const;
  std::int64_t memory_charge(const Job& job) const;   // what it has or may still take
  std::int64_t still_to_write(const Job& job) const;  // on its disk
  bool lacks_threads(const Job& job) const;
  bool lacks_memory(const Job& job) const;
  bool lacks_disk(const Job& job) const;
  std::string gpu_reason(const Job& job) const;

  const Machine& machine_;
  std::int64_t threads_ = 0, memory_bytes_ = 0;
  std::int64_t unheld_gpus_ = 0;                 // that no job has, whatever others have of their memory
  std::int64_t others_bytes_ = 0;                // of the memory for jobs: what others than our jobs have taken
  std::map<std::int64_t, std::int64_t> gpus_;    // by Gpu::index: free memory
  std::map<std::uint64_t, std::int64_t> disks_;  // by Disk::id
};

}  // namespace esper::jobs
