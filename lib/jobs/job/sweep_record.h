#pragma once
// A sweep in the daemon's queue, and its jobs' places in it. Plain data.

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "base/text/json_struct.h"
#include "jobs/job/job.h"

namespace esper::jobs {

using SweepId = std::int64_t;  // from 1, in the order of submission

enum class SweepState {
  kHeld,       // none of its jobs begins until the user lets it
  kActive,     //
  kEnded,      // nothing is left to do; a job that is retried or resumed makes it active again
  kCancelled,  //
};
constexpr auto names(SweepState) {
  using S = SweepState;
  return std::array{std::pair{S::kHeld, "held"}, std::pair{S::kActive, "active"}, std::pair{S::kEnded, "ended"},
                    std::pair{S::kCancelled, "cancelled"}};
}

// What is submitted.
struct SweepSubmission {
  std::string sweep{};     // the sweep file's text
  std::string run_file{};  // its run file's, which stands alone: sweep::run_file_text()
  std::string folder{};    // absolute: relative paths in the run file begin here
  std::string runs_dir{};  // absolute: the daemon makes a folder for the sweep's runs in it
  std::int64_t priority = 0;
  std::int64_t gpus = 0;          // of each job
  std::int64_t memory_bytes = 0;  // of each job; 0: what its run is forecast to take
  bool hold = false;
  std::string token{};  // as Submission::token
};
constexpr auto json_members(const SweepSubmission*) {
  using base::json_member;
  using S = SweepSubmission;
  return std::tuple{json_member("sweep", &S::sweep),
                    json_member("run_file", &S::run_file),
                    json_member("folder", &S::folder),
                    json_member("runs_dir", &S::runs_dir),
                    json_member("priority", &S::priority),
                    json_member("gpus", &S::gpus),
                    json_member("memory_bytes", &S::memory_bytes),
                    json_member("hold", &S::hold),
                    json_member("token", &S::token)};
}

// Times as in Job.
struct SweepRecord {
  SweepId id = 0;
  std::string name{};
  SweepState state = SweepState::kActive;
  std::map<std::string, std::int64_t> jobs{};  // how many there are in each state; of those that have some
  std::string folder{}, run_dir{};             // run_dir: has its runs' folders
  std::int64_t submitted_ms = 0, ended_ms = 0;
  std::int64_t uid = 0;
  std::optional<std::int64_t> not_forecast{};  // if any, in the first answer to its submission: TrialsCheck::result()
};
constexpr auto json_members(const SweepRecord*) {
  using base::json_member;
  using R = SweepRecord;
  return std::tuple{json_member("id", &R::id),
                    json_member("name", &R::name),
                    json_member("state", &R::state),
                    json_member("jobs", &R::jobs),
                    json_member("folder", &R::folder),
                    json_member("run_dir", &R::run_dir),
                    json_member("submitted_ms", &R::submitted_ms),
                    json_member("ended_ms", &R::ended_ms),
                    json_member("uid", &R::uid),
                    json_member("not_forecast", &R::not_forecast)};
}

// Whether a job of a sweep may begin, or go on to its rung.
enum class Turn {
  kIdle,   // not decided yet
  kDue,    // as soon as the sweep's max_running allows it
  kBegun,  // it was queued: from here on it is a job like others
};
constexpr auto names(Turn) {
  return std::array{std::pair{Turn::kIdle, "idle"}, std::pair{Turn::kDue, "due"}, std::pair{Turn::kBegun, "begun"}};
}

// A job's place in its sweep.
struct SweepTrial {
  JobId job = 0;
  std::size_t configuration = 0, seed = 0;  // indices: into sweep::configurations(), Sweep::seeds
  std::size_t rung = 0;                     // of halving: that it is to reach, or has reached; else 0
  Turn turn = Turn::kIdle;
  JobState state = JobState::kHeld;  // the job's
  std::vector<double> results{};     // the sweep's metric at each rung that it reached; NaN: no number
};

// A trial that is to begin, or to go on.
struct SweepStep {
  JobId job = 0;
  std::size_t rung = 0;
  std::int64_t epochs = 0;  // Job::epochs
  bool operator==(const SweepStep&) const = default;
};

}  // namespace esper::jobs
