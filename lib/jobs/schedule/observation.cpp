#include "jobs/schedule/observation.h"

#include <fmt/core.h>

#include <algorithm>
#include <cstdlib>

#include "base/file_system.h"
#include "base/memory_room.h"
#include "config/facts/estimate.h"
#include "jobs/machine/cores.h"
#include "jobs/machine/disk.h"
#include "jobs/machine/process_memory.h"
#include "nissa/log.h"
#include "storage/folder_walk.h"

namespace esper::jobs {
namespace {

constexpr std::int64_t kMemoryShare = 16;  // the machine's memory divided by this is kept free by default

std::int64_t resident_of(const Job& job, const JobFolder& folder) {
  const auto processes = read_process(folder, job.attempts);
  if (!processes || identity_of(static_cast<pid_t>(processes->trainer.pid)) != processes->trainer) return 0;
  return own_memory_of(static_cast<pid_t>(processes->trainer.pid));
}

std::int64_t written_by(const Job& job) {
  try {
    return static_cast<std::int64_t>(storage::bytes_of(storage::walk_folder(job.run_dir)));
  } catch (const base::IoError&) {
    return 0;  // it has not begun
  }
}

// The run folder's file system, asked once for all jobs on it.
void look_at_disk(Machine& machine, const Job& job, std::int64_t kept_back) {
  const auto disk = disk_of(job.run_dir);
  if (!disk) return;
  machine.free_disk_bytes.try_emplace(disk->id, std::max<std::int64_t>(disk->free_bytes - kept_back, 0));
  machine.uses[job.id].disk = disk->id;
}

}  // namespace

Observer::Observer(ObserverSetup setup)
    : setup_(std::move(setup)),
      kept_memory_(setup_.kept_back.memory_bytes > 0 ? setup_.kept_back.memory_bytes
                                                     : base::whole_memory(base::system_memory()).bytes / kMemoryShare) {
  capacity_.threads = setup_.threads > 0 ? setup_.threads : usable_cores();
  const std::int64_t whole = base::whole_memory(base::system_memory()).bytes;
  capacity_.memory_bytes = setup_.memory_bytes > 0 ? std::min(setup_.memory_bytes, whole) : whole - kept_memory_;
  open_gpus();
}

void Observer::open_gpus() {
  auto nvml = base::Nvml::open(setup_.nvml);
  if (!nvml) return nissa::log::info("no GPUs for jobs: " + nvml.error());
  auto gpus = nvml->gpus();
  if (!gpus) return nissa::log::warning("no GPUs for jobs: " + gpus.error());
  const char* visible = std::getenv("CUDA_VISIBLE_DEVICES");
  capacity_.gpus = visible == nullptr ? *gpus : visible_gpus(*gpus, visible);
  if (setup_.gpus) {
    std::erase_if(capacity_.gpus,
                  [&](const Gpu& gpu) { return std::ranges::find(*setup_.gpus, gpu.index) == setup_.gpus->end(); });
  }
  if (visible != nullptr) {
    nissa::log::info(
        fmt::format("CUDA_VISIBLE_DEVICES leaves {} of {} GPUs for jobs", capacity_.gpus.size(), gpus->size()));
  }
  for (Gpu& gpu : capacity_.gpus) {
    nissa::log::info(fmt::format("GPU {} for jobs: {}, {}", gpu.index, gpu.name, config::bytes_text(gpu.total_bytes)));
    gpu.total_bytes = std::max<std::int64_t>(gpu.total_bytes - setup_.kept_back.gpu_bytes, 0);
  }
  if (!capacity_.gpus.empty()) nvml_ = std::move(*nvml);
}

void Observer::look_at_gpus(Machine& machine) const {
  if (!nvml_) return;
  const auto gpus = nvml_->gpus();
  if (!gpus) return nissa::log::warning("no GPU is given to a job now: " + gpus.error());
  for (const Gpu& gpu : *gpus) {
    machine.free_gpu_bytes[gpu.index] = std::max<std::int64_t>(gpu.free_bytes - setup_.kept_back.gpu_bytes, 0);
  }
}

Machine Observer::look(const std::vector<Job>& ready, const std::vector<Job>& active,
                       const std::function<JobFolder(JobId)>& folder_of) const {
  Machine machine{.capacity = capacity_,
                  .free_memory_bytes = base::memory_room(base::system_memory()).bytes - kept_memory_};
  const bool needs_gpu = std::ranges::any_of(ready, [](const Job& job) { return job.needs.gpus > 0; });
  if (needs_gpu) look_at_gpus(machine);
  for (const auto* jobs : {&ready, &active})
    for (const Job& job : *jobs) look_at_disk(machine, job, setup_.kept_back.disk_bytes);
  for (const Job& job : active) machine.uses[job.id].resident_bytes = resident_of(job, folder_of(job.id));
  for (const auto* jobs : {&ready, &active})
    for (const Job& job : *jobs)
      if (job.attempts > 0) machine.uses[job.id].written_bytes = written_by(job);
  return machine;
}

std::vector<std::string> Observer::uuids_of(const std::vector<std::int64_t>& gpus) const {
  std::vector<std::string> uuids;
  for (const Gpu& gpu : capacity_.gpus)
    if (std::ranges::find(gpus, gpu.index) != gpus.end()) uuids.push_back(gpu.uuid);
  return uuids;
}

std::int64_t Observer::whole_disk(const std::string& run_dir) const {
  const auto disk = disk_of(run_dir);
  return disk ? std::max<std::int64_t>(disk->total_bytes - setup_.kept_back.disk_bytes, 1) : 0;
}

}  // namespace esper::jobs
