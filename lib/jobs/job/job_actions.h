#pragma once
// What a user may ask of a job, and the state that it leads to. Pure functions. Any thread.

#include <array>
#include <cstdint>
#include <string_view>
#include <utility>

#include "base/expected.h"
#include "jobs/job/job.h"

namespace esper::jobs {

// kPause also holds a queued job back; kHold does nothing else.
enum class JobAction { kCancel, kPause, kHold, kResume, kRetry };
constexpr auto names(JobAction) {
  using A = JobAction;
  return std::array{std::pair{A::kCancel, std::string_view("cancel")}, std::pair{A::kPause, std::string_view("pause")},
                    std::pair{A::kHold, std::string_view("hold")}, std::pair{A::kResume, std::string_view("resume")},
                    std::pair{A::kRetry, std::string_view("retry")}};
}

// The job as it is then; now_ms: as Job's times. Fails where its state does not allow it.
base::Expected<Job> after_action(Job job, JobAction action, std::int64_t now_ms);

}  // namespace esper::jobs
