#include "jobs/schedule/pool.h"

#include <fmt/core.h>

#include <algorithm>
#include <utility>

namespace esper::jobs {
namespace {

std::string free_text(std::int64_t bytes) { return config::bytes_text(std::max<std::int64_t>(bytes, 0)) + " are free"; }

// What must be free of a GPU for the job: half of it where its need is not known, and never more than an empty one has.
std::int64_t device_charge(const Job& job, const Gpu& gpu) {
  const std::int64_t need = device_memory_of(job);
  return need == 0 ? gpu.total_bytes / 2 : std::min(need, gpu.total_bytes - gpu.total_bytes / 8);
}

}  // namespace

Pool::Pool(const Machine& machine, const std::vector<Job>& active)
    : machine_(machine),
      threads_(machine.capacity.threads),
      unheld_gpus_(std::ssize(machine.capacity.gpus)),
      disks_(machine.free_disk_bytes) {
  std::int64_t held = 0;
  for (const Job& job : active) held += use_of(job).resident_bytes;
  memory_bytes_ = std::min(machine.capacity.memory_bytes, machine.free_memory_bytes + held);
  others_bytes_ = machine.capacity.memory_bytes - memory_bytes_;
  for (const Gpu& gpu : machine.capacity.gpus) {
    const auto free = machine.free_gpu_bytes.find(gpu.index);
    if (free != machine.free_gpu_bytes.end()) gpus_[gpu.index] = free->second;
  }
  for (const Job& job : active) take(job, job.gpus);
}

JobUse Pool::use_of(const Job& job) const {
  const auto found = machine_.uses.find(job.id);
  return found == machine_.uses.end() ? JobUse{} : found->second;
}

std::int64_t Pool::memory_charge(const Job& job) const {
  return std::max(memory_of(job, machine_.capacity), use_of(job).resident_bytes);
}

std::int64_t Pool::still_to_write(const Job& job) const {
  return std::max<std::int64_t>(job.forecast.disk.bytes - use_of(job).written_bytes, 0);
}

void Pool::take(const Job& job, const std::vector<std::int64_t>& gpus) {
  threads_ -= threads_of(job.needs, machine_.capacity);
  memory_bytes_ -= memory_charge(job);
  for (const auto gpu : gpus) gpus_.erase(gpu);
  unheld_gpus_ -= std::ssize(gpus);
  if (const auto disk = disks_.find(use_of(job).disk); disk != disks_.end()) disk->second -= still_to_write(job);
}

void Pool::give_back(const Job& job) {
  threads_ += threads_of(job.needs, machine_.capacity);
  memory_bytes_ += memory_charge(job);
  unheld_gpus_ += std::ssize(job.gpus);
  for (const Gpu& gpu : machine_.capacity.gpus) {
    if (std::ranges::find(job.gpus, gpu.index) == job.gpus.end()) continue;
    const auto free = machine_.free_gpu_bytes.find(gpu.index);
    const std::int64_t now = free == machine_.free_gpu_bytes.end() ? 0 : free->second;
    // What it takes is free then as well; all of the GPU where that is not known.
    const std::int64_t back = device_memory_of(job) > 0 ? device_charge(job, gpu) : gpu.total_bytes;
    gpus_[gpu.index] = std::min(now + back, gpu.total_bytes);
  }
  if (const auto disk = disks_.find(use_of(job).disk); disk != disks_.end()) disk->second += still_to_write(job);
}

void Pool::keep_for(const Job& job) {
  const bool threads = lacks_threads(job), memory = lacks_memory(job), space = lacks_disk(job);
  const auto gpus = gpus_for(job);
  take(job, gpus.value_or(std::vector<std::int64_t>{}));
  if (threads) threads_ = 0;
  if (memory) memory_bytes_ = 0;
  if (!gpus) gpus_.clear();
  if (space) disks_.at(use_of(job).disk) = 0;
}

std::optional<std::vector<std::int64_t>> Pool::gpus_for(const Job& job) const {
  std::vector<std::pair<std::int64_t, std::int64_t>> enough;  // free memory, index
  for (const Gpu& gpu : machine_.capacity.gpus) {
    const auto free = gpus_.find(gpu.index);
    if (free != gpus_.end() && free->second >= device_charge(job, gpu)) enough.emplace_back(free->second, gpu.index);
  }
  const auto count = static_cast<std::size_t>(job.needs.gpus);
  if (enough.size() < count) return std::nullopt;
  std::ranges::sort(enough);
  if (device_memory_of(job) == 0)
    std::ranges::stable_sort(enough, std::greater(), &decltype(enough)::value_type::first);
  std::vector<std::int64_t> chosen;
  for (std::size_t i = 0; i < count; ++i) chosen.push_back(enough[i].second);
  return chosen;
}

bool Pool::lacks_threads(const Job& job) const { return threads_of(job.needs, machine_.capacity) > threads_; }

bool Pool::lacks_memory(const Job& job) const {
  return memory_of(job, machine_.capacity) > std::max<std::int64_t>(memory_bytes_, 0);
}

bool Pool::lacks_disk(const Job& job) const {
  const auto disk = disks_.find(use_of(job).disk);
  return disk != disks_.end() && still_to_write(job) > std::max<std::int64_t>(disk->second, 0);
}

std::string Pool::gpu_reason(const Job& job) const {
  const auto free = static_cast<std::int64_t>(gpus_.size());
  if (job.needs.gpus > free) {
    return fmt::format("waits for GPUs: needs {}, {} of {} are free", job.needs.gpus, free,
                       machine_.capacity.gpus.size());
  }
  std::string figures;
  for (const auto& [index, bytes] : gpus_)
    figures += fmt::format("{}GPU {} has {} free", figures.empty() ? "" : ", ", index, config::bytes_text(bytes));
  return fmt::format("waits for GPU memory: {}; {}", device_memory_text(job), figures);
}

std::string Pool::lacking(const Job& job) const {
  // Of a daemon that was started with less since, or of a machine that has less.
  if (const auto reason = exceeds(job, machine_.capacity); !reason.empty()) return kCannotBeginHere + reason;
  if (lacks_threads(job)) {
    return fmt::format("waits for threads: needs {}, {} of {} are free", threads_of(job.needs, machine_.capacity),
                       std::max<std::int64_t>(threads_, 0), machine_.capacity.threads);
  }
  if (lacks_memory(job)) return fmt::format("waits for memory: {}, {}", memory_text(job), free_text(memory_bytes_));
  if (job.needs.gpus > 0 && !gpus_for(job)) return gpu_reason(job);
  if (lacks_disk(job)) {
    return fmt::format("waits for disk space: {}, {} have been written, {}", disk_text(job),
                       config::bytes_text(use_of(job).written_bytes), free_text(disks_.at(use_of(job).disk)));
  }
  return "";
}

bool Pool::others_take_of(const Job& job) const {
  const bool memory = lacks_memory(job) && memory_of(job, machine_.capacity) <= memory_bytes_ + others_bytes_;
  const bool gpus = job.needs.gpus > 0 && job.needs.gpus <= unheld_gpus_ && !gpus_for(job);
  return memory || gpus || lacks_disk(job);
}

}  // namespace esper::jobs
