#pragma once
// Reads what placement decides by: the machine as it is now, and what each job has of it. The daemon's thread.

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/nvml.h"
#include "jobs/process/job_files.h"
#include "jobs/schedule/placement.h"

namespace esper::jobs {

// What is not given to jobs.
struct KeptBack {
  std::int64_t memory_bytes = 0;        // 0: a sixteenth of the machine's
  std::int64_t gpu_bytes = 512 << 20;   // of each GPU
  std::int64_t disk_bytes = 512 << 20;  // of each file system
};

struct ObserverSetup {
  std::int64_t threads = 0;                         // for jobs; 0: all that the process may use
  std::int64_t memory_bytes = 0;                    // for jobs; 0: all that the process may use, less what is kept back
  std::optional<std::vector<std::int64_t>> gpus{};  // by Gpu::index; nothing: all that the process may use
  KeptBack kept_back{};
  std::string nvml = base::kNvmlLibrary;
};

class Observer {
 public:
  // Says in the log which GPUs there are, or why there are none.
  explicit Observer(ObserverSetup setup);

  const Capacity& capacity() const { return capacity_; }
  // `folder_of`: where a job's processes leave word.
  Machine look(const std::vector<Job>& ready, const std::vector<Job>& active,
               const std::function<JobFolder(JobId)>& folder_of) const;
  // Of these GPUs.
  std::vector<std::string> uuids_of(const std::vector<std::int64_t>& gpus) const;
  // What the file system of a run folder has in all, less what is kept back; 0: not known.
  std::int64_t whole_disk(const std::string& run_dir) const;

 private:
  void open_gpus();
  void look_at_gpus(Machine& machine) const;

  const ObserverSetup setup_;
  const std::int64_t kept_memory_;
  std::optional<base::Nvml> nvml_;
  Capacity capacity_;
};

}  // namespace esper::jobs
