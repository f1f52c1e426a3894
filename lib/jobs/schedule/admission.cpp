#include "jobs/schedule/admission.h"

#include <fmt/core.h>

#include <charconv>
#include <utility>

namespace esper::jobs {
namespace {

// Without `asked`, or where the run file needs one.
std::int64_t gpus_of(const std::string& device, std::int64_t asked, const Capacity& capacity) {
  if (asked > 0) return asked;
  if (device.starts_with("cuda")) return 1;
  return device == "auto" && asked == kGpusByDevice && !capacity.gpus.empty() ? 1 : 0;
}

// 2 of "cuda:2", 0 of "cuda".
std::int64_t ordinal_of(const std::string& device) {
  std::int64_t ordinal = 0;
  const auto colon = device.find(':');
  if (colon != std::string::npos) std::from_chars(device.data() + colon + 1, device.data() + device.size(), ordinal);
  return ordinal;
}

}  // namespace

base::Expected<Submission> with_forecast(Submission submission, const config::RunConfig& config,
                                         const config::RunInputs& inputs, const Capacity& capacity) {
  Resources& needs = submission.needs;
  const std::string& device = config.device.kind;
  needs.gpus = gpus_of(device, needs.gpus, capacity);
  if (ordinal_of(device) > 0 && ordinal_of(device) >= needs.gpus) {
    return base::failure(
        fmt::format("device.kind: {}, and the job has {} GPU(s), which count from 0 within the job; use "
                    "cuda, or more --gpus",
                    device, needs.gpus));
  }
  submission.forecast = forecast(config, inputs, needs.gpus > 0 ? config::RunsOn::kGpu : config::RunsOn::kCpu);
  return submission;
}

base::Expected<Submission> admit(Submission submission, const config::RunConfig& config,
                                 const config::RunInputs& inputs, const Capacity& capacity, std::int64_t disk_bytes) {
  const bool gpus_given = submission.needs.gpus > 0;
  auto admitted = with_forecast(std::move(submission), config, inputs, capacity);
  if (!admitted) return admitted;
  Job job;
  job.needs = admitted->needs;
  job.forecast = admitted->forecast;
  if (gpus_given) job.forecast.device_memory = {};  // the user says that they are enough
  if (const auto reason = never_fits(job, capacity, disk_bytes); !reason.empty())
    return base::failure("it can never begin on this machine: " + reason);
  return admitted;
}

}  // namespace esper::jobs
