#include "jobs/schedule/needs.h"

#include <fmt/core.h>

#include <algorithm>

namespace esper::jobs {
namespace {

using config::bytes_text;

std::string forecast_text(const std::string& what, const config::Estimate& estimate) {
  return fmt::format("{} is forecast to take {} ({})", what, bytes_text(estimate.bytes), estimate.parts);
}

}  // namespace

std::int64_t threads_of(const Resources& needs, const Capacity& capacity) {
  return needs.threads <= 0 ? capacity.threads : std::min(needs.threads, capacity.threads);
}

std::int64_t memory_of(const Job& job, const Capacity& capacity) {
  return job.needs.memory_bytes > 0
             ? job.needs.memory_bytes
             : std::max(job.forecast.memory.bytes, std::min(job.peak_bytes, capacity.memory_bytes));
}

std::int64_t device_memory_of(const Job& job) { return job.forecast.device_memory.bytes; }

std::string memory_text(const Job& job) {
  if (job.needs.memory_bytes > 0) return fmt::format("--memory declares {}", bytes_text(job.needs.memory_bytes));
  if (job.peak_bytes > job.forecast.memory.bytes)
    return fmt::format("an earlier attempt took {}", bytes_text(job.peak_bytes));
  return forecast_text("the run", job.forecast.memory);
}

std::string device_memory_text(const Job& job) {
  if (job.forecast.device_memory.bytes == 0)
    return fmt::format("the memory that the run takes of a GPU is {}, so half of one must be free",
                       job.forecast.device_memory.parts);
  return forecast_text("the run", job.forecast.device_memory) + " on each GPU";
}

std::string disk_text(const Job& job) { return forecast_text("the run folder", job.forecast.disk); }

std::string exceeds(const Job& job, const Capacity& capacity) {
  if (memory_of(job, capacity) > capacity.memory_bytes) {
    return fmt::format("memory: {}, and {} are available to jobs on this machine; set --memory if the job needs less",
                       memory_text(job), bytes_text(capacity.memory_bytes));
  }
  const auto gpus = static_cast<std::int64_t>(capacity.gpus.size());
  if (job.needs.gpus > gpus)
    return fmt::format("GPUs: it needs {}, and {} are available to jobs on this machine", job.needs.gpus, gpus);
  const auto large =
      std::ranges::count_if(capacity.gpus, [&](const Gpu& gpu) { return gpu.total_bytes >= device_memory_of(job); });
  if (job.needs.gpus > large) {
    return fmt::format("GPU memory: {}, and {} of {} GPUs have as much; set --gpus if their memory is enough",
                       device_memory_text(job), large, gpus);
  }
  return "";
}

std::string never_fits(const Job& job, const Capacity& capacity, std::int64_t disk_bytes) {
  if (auto reason = exceeds(job, capacity); !reason.empty()) return reason;
  if (disk_bytes > 0 && job.forecast.disk.bytes > disk_bytes) {
    return fmt::format(
        "disk space: {}, and its file system has {} for it; keep fewer checkpoints "
        "(checkpoint.keep_last), or use another --run-dir",
        disk_text(job), bytes_text(disk_bytes));
  }
  return "";
}

}  // namespace esper::jobs
