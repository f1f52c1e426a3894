#include "esper/queue/job_requests.h"

#include <fmt/core.h>

#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/names.h"
#include "base/text/joined.h"
#include "base/text/json_fields.h"
#include "jobs/job/job_states.h"

namespace esper {

using base::ExitCode;

std::string job_target(std::int64_t job, const std::string& what) {
  return fmt::format("/v1/jobs/{}{}{}", job, what.empty() ? "" : "/", what);
}

jobs::JobState state_of(const nlohmann::json& job) {
  const auto state = base::from_name<jobs::JobState>(base::text_at(job, "state"));
  if (!state) {
    throw base::Error(ExitCode::kBug,
                      "the daemon reported a state that this esper does not know: compare its version in esper daemon "
                      "status with esper --version, and restart it where they differ");
  }
  return *state;
}

// Also one that its sweep left paused: nothing but its user continues it.
bool has_ended(const nlohmann::json& job) {
  const auto state = state_of(job);
  const bool is_left =
      state == jobs::JobState::kPaused && base::number_at<std::int64_t>(job, "ended_ms").value_or(0) > 0;
  return is_terminal(state) || is_left;
}

int exit_code_of(const nlohmann::json& job) {
  const auto state = state_of(job);
  const bool is_unfinished = state == jobs::JobState::kCancelled || state == jobs::JobState::kPaused;
  if (is_unfinished)
    return static_cast<int>(ExitCode::kInterrupted);  // its last attempt may have reached a rung with 0
  return base::number_at<int>(job, "exit_code").value_or(static_cast<int>(ExitCode::kResources));
}

std::string ids_text(const std::vector<std::int64_t>& jobs) { return base::joined(jobs); }

}  // namespace esper
