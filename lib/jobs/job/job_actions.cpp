#include "jobs/job/job_actions.h"

#include <fmt/core.h>

#include <algorithm>

#include "base/names.h"
#include "jobs/job/job_states.h"

namespace esper::jobs {
namespace {

using A = JobAction;
using S = JobState;

struct ActionRow {
  JobAction action;
  JobState from, to;
  std::string_view reason;
  StopPurpose purpose = StopPurpose::kNone;
};

constexpr std::string_view kBeforeItRan = "cancelled by the user before it continued";
constexpr std::string_view kRetried = "retried by the user";

constexpr std::array kActionRows{
    ActionRow{A::kCancel, S::kHeld, S::kCancelled, kBeforeItRan},
    ActionRow{A::kCancel, S::kQueued, S::kCancelled, kBeforeItRan},
    ActionRow{A::kCancel, S::kPaused, S::kCancelled, kBeforeItRan},
    ActionRow{A::kCancel, S::kStarting, S::kStopping, "", StopPurpose::kCancel},
    ActionRow{A::kCancel, S::kRunning, S::kStopping, "", StopPurpose::kCancel},
    ActionRow{A::kCancel, S::kStopping, S::kStopping, "", StopPurpose::kCancel},
    ActionRow{A::kPause, S::kQueued, S::kHeld, "held back by the user"},
    ActionRow{A::kPause, S::kStarting, S::kStopping, "", StopPurpose::kPause},
    ActionRow{A::kPause, S::kRunning, S::kStopping, "", StopPurpose::kPause},
    ActionRow{A::kPause, S::kStopping, S::kStopping, "", StopPurpose::kPause},
    ActionRow{A::kHold, S::kQueued, S::kHeld, "held back by the user"},
    ActionRow{A::kResume, S::kHeld, S::kQueued, ""},
    ActionRow{A::kResume, S::kPaused, S::kQueued, ""},
    ActionRow{A::kRetry, S::kFailed, S::kQueued, kRetried},
    ActionRow{A::kRetry, S::kCancelled, S::kQueued, kRetried},
    ActionRow{A::kRetry, S::kDiverged, S::kQueued, kRetried},
};

}  // namespace

base::Expected<Job> after_action(Job job, JobAction action, std::int64_t now_ms) {
  const auto row = std::ranges::find_if(
      kActionRows, [&](const ActionRow& one) { return one.action == action && one.from == job.state; });
  // A stop that makes room, or a pause, can still become another one; a cancellation stays.
  const bool is_final = job.state == S::kStopping && job.purpose == StopPurpose::kCancel;
  if (row == kActionRows.end() || is_final) {
    return base::failure(
        fmt::format("job {} is {}: cannot {} it", job.id, base::name_of(job.state), base::name_of(action)));
  }
  job.state = row->to;
  job.reason = row->reason;
  job.purpose = row->purpose;
  if (row->to == S::kCancelled) job.ended_ms = now_ms;
  if (action == A::kRetry) {
    job.interruptions = 0;
    job.ended_ms = 0;
  }
  return job;
}

}  // namespace esper::jobs
