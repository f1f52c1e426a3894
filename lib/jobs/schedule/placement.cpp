#include "jobs/schedule/placement.h"

#include <fmt/core.h>

#include <algorithm>

namespace esper::jobs {
namespace {

struct FreeNow {
  std::int64_t threads, memory_bytes;
  std::vector<std::int64_t> gpus;
};

void take(FreeNow& free, const Job& job, const Capacity& capacity) {
  free.threads -= threads_of(job.needs, capacity);
  free.memory_bytes -= job.needs.memory_bytes;
  for (const auto gpu : job.gpus) std::erase(free.gpus, gpu);
}

void give_back(FreeNow& free, const Job& job, const Capacity& capacity) {
  free.threads += threads_of(job.needs, capacity);
  free.memory_bytes += job.needs.memory_bytes;
  free.gpus.insert(free.gpus.end(), job.gpus.begin(), job.gpus.end());
}

FreeNow free_beside(const std::vector<Job>& active, const Capacity& capacity) {
  FreeNow free{capacity.threads, capacity.memory_bytes, capacity.gpus};
  for (const Job& job : active) take(free, job, capacity);
  return free;
}

// Empty: it fits.
std::string lacking(const Job& job, const FreeNow& free, const Capacity& capacity) {
  const std::int64_t threads = threads_of(job.needs, capacity);
  const auto gpus = static_cast<std::int64_t>(free.gpus.size());
  if (threads > free.threads) {
    return fmt::format("waits for threads: needs {}, {} of {} are free", threads,
                       std::max<std::int64_t>(free.threads, 0), capacity.threads);
  }
  if (job.needs.memory_bytes > free.memory_bytes) {
    return fmt::format("waits for memory: needs {} MiB, {} MiB of {} MiB are free", job.needs.memory_bytes >> 20,
                       std::max<std::int64_t>(free.memory_bytes, 0) >> 20, capacity.memory_bytes >> 20);
  }
  if (job.needs.gpus > gpus) {
    return fmt::format("waits for GPUs: needs {}, {} of {} are free", job.needs.gpus, gpus, capacity.gpus.size());
  }
  return "";
}

// Running jobs of lower priority that are enough, lowest and youngest first; none if they are not.
std::vector<JobId> yields_for(const Job& job, FreeNow free, const std::vector<Job>& active, const Capacity& capacity) {
  std::vector<JobId> chosen;
  auto candidates = active;
  // What is stopping already gives back what it has in any case.
  for (const Job& one : active) {
    if (one.state == JobState::kStopping) give_back(free, one, capacity);
  }
  if (lacking(job, free, capacity).empty()) return {};
  std::erase_if(candidates,
                [&](const Job& one) { return one.priority >= job.priority || one.state != JobState::kRunning; });
  std::ranges::sort(candidates, [](const Job& a, const Job& b) {
    return a.priority != b.priority ? a.priority < b.priority : a.id > b.id;
  });
  for (const Job& one : candidates) {
    give_back(free, one, capacity);
    chosen.push_back(one.id);
    if (lacking(job, free, capacity).empty()) return chosen;
  }
  return {};
}

}  // namespace

std::int64_t threads_of(const Resources& needs, const Capacity& capacity) {
  return needs.threads <= 0 ? capacity.threads : std::min(needs.threads, capacity.threads);
}

Placement place(const std::vector<Job>& ready, const std::vector<Job>& active, const Capacity& capacity) {
  Placement placement;
  FreeNow free = free_beside(active, capacity);
  for (const Job& job : ready) {
    const std::string lack = lacking(job, free, capacity);
    if (!lack.empty()) {
      placement.waits.push_back({job.id, lack});
      placement.yields = yields_for(job, free, active, capacity);
      break;  // each job needs threads: none behind it may take them
    }
    Job placed = job;
    placed.gpus.assign(free.gpus.begin(), free.gpus.begin() + job.needs.gpus);
    take(free, placed, capacity);
    placement.starts.push_back({job.id, placed.gpus});
  }
  return placement;
}

}  // namespace esper::jobs
