#pragma once
// A job: one training in the daemon's queue, from its submission to its end. Plain data.

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "base/names.h"
#include "base/text/json_struct.h"
#include "config/facts/estimate.h"

namespace esper::jobs {

using JobId = std::int64_t;  // from 1, in the order of submission

enum class JobState {
  kHeld,       // waits for the user, as after --hold, or for its sweep
  kQueued,     // waits for resources, for other jobs, or for its delay after an interruption
  kStarting,   // about to be started: its processes may or may not exist yet
  kRunning,    // its processes exist
  kStopping,   // was asked to save and stop
  kPaused,     // saved and stopped; the user, or its sweep, continues it
  kSucceeded,  // from here on nothing follows
  kFailed,
  kCancelled,
  kDiverged,
};
constexpr auto names(JobState) {
  using S = JobState;
  return std::array{std::pair{S::kHeld, "held"},           std::pair{S::kQueued, "queued"},
                    std::pair{S::kStarting, "starting"},   std::pair{S::kRunning, "running"},
                    std::pair{S::kStopping, "stopping"},   std::pair{S::kPaused, "paused"},
                    std::pair{S::kSucceeded, "succeeded"}, std::pair{S::kFailed, "failed"},
                    std::pair{S::kCancelled, "cancelled"}, std::pair{S::kDiverged, "diverged"}};
}

// What a stop is for.
enum class StopPurpose { kNone, kCancel, kPause, kYield };
constexpr auto names(StopPurpose) {
  using P = StopPurpose;
  return std::array{std::pair{P::kNone, "none"}, std::pair{P::kCancel, "cancel"}, std::pair{P::kPause, "pause"},
                    std::pair{P::kYield, "yield"}};
}

// As many GPUs as the run file's device asks for: 1 for cuda, and for auto where there are GPUs; else 0.
inline constexpr std::int64_t kGpusByDevice = -1;

// What a job takes of the machine while it runs.
struct Resources {
  std::int64_t threads = 0;       // 0: all of the machine's
  std::int64_t memory_bytes = 0;  // 0: as forecast
  std::int64_t gpus = 0;          // submitted: or kGpusByDevice
  bool operator==(const Resources&) const = default;
};
constexpr auto json_members(const Resources*) {
  using base::json_member;
  using R = Resources;
  return std::tuple{json_member("threads", &R::threads), json_member("memory_bytes", &R::memory_bytes),
                    json_member("gpus", &R::gpus)};
}

// What is submitted.
struct Submission {
  std::string name{};
  std::string config{};        // the run file, resolved: it has all fields and extends nothing
  std::string folder{};        // absolute: relative paths in the run file begin here
  std::string run_dir{};       // absolute: the run folder to make; empty: the daemon names it
  std::string runs_dir{};      // absolute: where the daemon makes it then
  std::int64_t priority = 0;   // higher ones first
  std::vector<JobId> after{};  // begins when these have succeeded
  Resources needs{};
  config::RunForecast forecast{};  // the daemon's own, made from the configuration
  bool hold = false;
  // Chosen by the client: a repeated submission with the same token is the same job. Empty: none.
  std::string token{};
  // One job for each, with the seed in its run file and in its names (job/repeat.h); empty: one job.
  std::vector<std::uint64_t> seeds{};
  // Of the daemon's own submissions alone; not in JSON.
  std::int64_t sweep = 0;   // that it belongs to; 0: none
  std::int64_t epochs = 0;  // Job::epochs
};
constexpr auto json_members(const Submission*) {
  using base::json_member;
  using S = Submission;
  return std::tuple{
      json_member("name", &S::name),       json_member("config", &S::config),     json_member("folder", &S::folder),
      json_member("run_dir", &S::run_dir), json_member("runs_dir", &S::runs_dir), json_member("priority", &S::priority),
      json_member("after", &S::after),     json_member("needs", &S::needs),       json_member("hold", &S::hold),
      json_member("token", &S::token),     json_member("seeds", &S::seeds)};
}

// Times are milliseconds since the UNIX epoch, for people: nothing is decided by their order. 0: not yet. A paused job
// that has an end is one that its sweep has left: only its user continues it.
struct Job {
  JobId id = 0;
  std::string name{};
  JobState state = JobState::kQueued;
  StopPurpose purpose = StopPurpose::kNone;  // stopping: what for
  std::string reason{};                      // of the state, for people
  std::int64_t priority = 0;
  std::vector<JobId> after{};
  Resources needs{};
  std::vector<std::int64_t> gpus{};  // that it has
  std::string folder{}, run_dir{};
  std::int64_t attempts = 0;       // how often it was started
  std::int64_t interruptions = 0;  // in a row without a new checkpoint; a second and a third cause count from 1 again
  std::string cause{};             // of these, the newest first, separated by "; "
  std::string checkpoint{};        // the newest one when the last attempt ended
  std::optional<int> exit_code{};  // of the last attempt
  std::int64_t submitted_ms = 0, started_ms = 0, ended_ms = 0;
  std::int64_t uid = 0;     // who submitted it
  std::int64_t sweep = 0;   // 0: none
  std::int64_t epochs = 0;  // that its run is trained to; 0: as its run file says
  config::RunForecast forecast{};
  std::int64_t peak_bytes = 0;  // of memory that an attempt had resident; 0: none has ended
  bool operator==(const Job&) const = default;
};
constexpr auto json_members(const Job*) {
  using base::json_member;
  using J = Job;
  return std::tuple{json_member("id", &J::id),
                    json_member("name", &J::name),
                    json_member("state", &J::state),
                    json_member("purpose", &J::purpose),
                    json_member("reason", &J::reason),
                    json_member("priority", &J::priority),
                    json_member("after", &J::after),
                    json_member("needs", &J::needs),
                    json_member("gpus", &J::gpus),
                    json_member("folder", &J::folder),
                    json_member("run_dir", &J::run_dir),
                    json_member("attempts", &J::attempts),
                    json_member("interruptions", &J::interruptions),
                    json_member("cause", &J::cause),
                    json_member("checkpoint", &J::checkpoint),
                    json_member("exit_code", &J::exit_code),
                    json_member("submitted_ms", &J::submitted_ms),
                    json_member("started_ms", &J::started_ms),
                    json_member("ended_ms", &J::ended_ms),
                    json_member("uid", &J::uid),
                    json_member("sweep", &J::sweep),
                    json_member("epochs", &J::epochs),
                    json_member("forecast", &J::forecast),
                    json_member("peak_bytes", &J::peak_bytes)};
}

}  // namespace esper::jobs
