#include "jobs/schedule/admission.h"

#include <fmt/core.h>

#include <algorithm>
#include <charconv>
#include <functional>
#include <utility>
#include <vector>

namespace esper::jobs {
namespace {

// On device.kind: auto it needs a GPU as device.kind: cuda does.
bool is_graph_of_auto(const config::RunConfig& config) {
  return config.device.kind == "auto" && config.step.lane == config::Lane::kGraph;
}

// Without `asked`, or where the run file needs one.
std::int64_t gpus_of(const config::RunConfig& config, std::int64_t asked, const Capacity& capacity) {
  const std::string& device = config.device.kind;
  if (asked > 0) return asked;
  if (device.starts_with("cuda") || is_graph_of_auto(config)) return 1;
  return device == "auto" && asked == kGpusByDevice && !capacity.gpus.empty() ? 1 : 0;
}

// 2 of "cuda:2", 0 of "cuda".
std::int64_t ordinal_of(const std::string& device) {
  std::int64_t ordinal = 0;
  const auto colon = device.find(':');
  if (colon != std::string::npos) std::from_chars(device.data() + colon + 1, device.data() + device.size(), ordinal);
  return ordinal;
}

// Who says how many GPUs says that they are enough: as much as each of that many has.
void trust_gpus(config::Estimate& device_memory, std::int64_t gpus, const Capacity& capacity) {
  std::vector<std::int64_t> whole;
  for (const Gpu& gpu : capacity.gpus) whole.push_back(gpu.total_bytes);
  if (gpus > std::ssize(whole)) return;
  std::ranges::sort(whole, std::greater());
  const std::int64_t most = whole[static_cast<std::size_t>(gpus - 1)];
  if (device_memory.bytes <= most) return;
  device_memory = {most, fmt::format("the whole GPU, which is enough according to --gpus; forecast {}: {}",
                                     config::bytes_text(device_memory.bytes), device_memory.parts)};
}

}  // namespace

base::Expected<Submission> with_forecast(Submission submission, const config::RunConfig& config,
                                         const config::RunInputs& inputs, const Capacity& capacity) {
  Resources& needs = submission.needs;
  const bool gpus_given = needs.gpus > 0;
  const std::string& device = config.device.kind;
  needs.gpus = gpus_of(config, needs.gpus, capacity);
  if (ordinal_of(device) > 0 && ordinal_of(device) >= needs.gpus) {
    return base::failure(
        fmt::format("device.kind: {}, and the job has {} GPU(s), which count from 0 within the job; use "
                    "cuda, or more --gpus",
                    device, needs.gpus));
  }
  submission.forecast = forecast(config, inputs, needs.gpus > 0 ? config::RunsOn::kGpu : config::RunsOn::kCpu);
  if (gpus_given) trust_gpus(submission.forecast.device_memory, needs.gpus, capacity);
  return submission;
}

base::Expected<Submission> admit(Submission submission, const config::RunConfig& config,
                                 const config::RunInputs& inputs, const Capacity& capacity, std::int64_t disk_bytes) {
  if (is_graph_of_auto(config) && capacity.gpus.empty()) {
    return base::failure(
        "step.lane: graph needs a GPU, and none is available to jobs on this machine; use step.lane: auto, replay or "
        "compiled");
  }
  auto admitted = with_forecast(std::move(submission), config, inputs, capacity);
  if (!admitted) return admitted;
  Job job;
  job.needs = admitted->needs;
  job.forecast = admitted->forecast;
  if (auto fits = check_fits(job, capacity, disk_bytes); !fits) return base::failure(fits.error());
  return admitted;
}

base::Expected<void> check_fits(const Job& job, const Capacity& capacity, std::int64_t disk_bytes) {
  if (const auto reason = never_fits(job, capacity, disk_bytes); !reason.empty())
    return base::failure("it can never start on this machine: " + reason);
  return {};
}

}  // namespace esper::jobs
