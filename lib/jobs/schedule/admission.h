#pragma once
// What a submission still lacks before it is queued: its GPUs, and the forecast of its run. Pure functions. Any thread.

#include <array>
#include <cstdint>
#include <string_view>

#include "base/expected.h"
#include "config/facts/run_forecast.h"
#include "jobs/schedule/needs.h"

namespace esper::jobs {

// The fields of a run file by which its job gets GPUs.
inline constexpr std::array<std::string_view, 2> kGpuFields{"device.kind", "step.lane"};

// The submission with both. Where it says itself how many GPUs it needs, the forecast of their memory is at most what
// they have. Fails with the reason, for its user, where its device is none that the job has.
base::Expected<Submission> with_forecast(Submission submission, const config::RunConfig& config,
                                         const config::RunInputs& inputs, const Capacity& capacity);

// The same. Fails also where the job could never begin here. disk_bytes: as never_fits() takes it.
base::Expected<Submission> admit(Submission submission, const config::RunConfig& config,
                                 const config::RunInputs& inputs, const Capacity& capacity, std::int64_t disk_bytes);

// Fails where a job that has its forecast could never begin here, with the reason for its user.
base::Expected<void> check_fits(const Job& job, const Capacity& capacity, std::int64_t disk_bytes);

}  // namespace esper::jobs
