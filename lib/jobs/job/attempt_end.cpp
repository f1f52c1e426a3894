#include "jobs/job/attempt_end.h"

#include <fmt/core.h>
#include <string.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "base/error.h"
#include "base/text/joined.h"
#include "history/growth/checkpoint_list.h"

namespace esper::jobs {
namespace {

using base::ExitCode;

constexpr std::string_view kBetweenCauses = "; ";

constexpr auto kMeanings =
    std::array{std::pair{ExitCode::kDone, "done"},
               std::pair{ExitCode::kConfig, "configuration error"},
               std::pair{ExitCode::kData, "data error"},
               std::pair{ExitCode::kDiverged, "the training diverged"},
               std::pair{ExitCode::kCheckpoint, "no usable checkpoint"},
               std::pair{ExitCode::kResources, "out of memory or disk space, or a file that cannot be used"},
               std::pair{ExitCode::kPolicy, "policy error"},
               std::pair{ExitCode::kBug, "a bug of Esper, or a GPU that failed"},
               std::pair{ExitCode::kTryAgain, "try again later"},
               std::pair{ExitCode::kHungUp, "stopped by SIGHUP"},
               std::pair{ExitCode::kInterrupted, "stopped by SIGINT"},
               std::pair{ExitCode::kTerminated, "stopped by SIGTERM"}};

// It would have gone on by itself: what ended it came from outside, or may pass.
bool is_interruption(const AttemptEnd& end) {
  if (end.never_began) return true;
  if (!end.problem.empty()) return false;
  if (!end.exit_code) return true;
  switch (static_cast<ExitCode>(*end.exit_code)) {
    case ExitCode::kResources:
    case ExitCode::kTryAgain:
    case ExitCode::kHungUp:
    case ExitCode::kInterrupted:
    case ExitCode::kTerminated:
      return true;
    default:
      return false;
  }
}

JobState state_after_exit(int exit_code) {
  if (exit_code == static_cast<int>(ExitCode::kDone)) return JobState::kSucceeded;
  return exit_code == static_cast<int>(ExitCode::kDiverged) ? JobState::kDiverged : JobState::kFailed;
}

// Of Job::cause, the last one first.
std::vector<std::string> causes_of(const Job& job) {
  std::vector<std::string> causes;
  std::string_view left = job.cause;
  while (!left.empty()) {
    const auto end = std::min(left.find(kBetweenCauses), left.size());
    causes.emplace_back(left.substr(0, end));
    left.remove_prefix(std::min(end + kBetweenCauses.size(), left.size()));
  }
  return causes;
}

// As text epoch 10,000 would come before epoch 9,999.
bool is_newer(const std::string& checkpoint, const std::string& than) {
  const auto place_of = [](const std::string& name) {
    const auto entry = history::checkpoint_entry("", name);
    return entry ? std::optional(std::pair(entry->epoch, entry->step)) : std::nullopt;
  };
  return place_of(checkpoint) > place_of(than);
}

void forget_interruptions_before_checkpoint(Job& job, const AttemptEnd& end) {
  if (end.never_began || !is_newer(end.checkpoint, job.checkpoint)) return;
  job.interruptions = 0;
  job.cause.clear();
}

void count_interruption(Job& job, const std::string& cause) {
  auto causes = job.interruptions == 0 ? std::vector<std::string>() : causes_of(job);
  const bool is_known = std::erase(causes, cause) > 0;
  const bool counts_anew = !is_known && causes.size() < RestartRules::kMostCauses;
  job.interruptions = counts_anew ? 1 : job.interruptions + 1;
  causes.insert(causes.begin(), cause);
  job.cause = base::joined(causes, kBetweenCauses);
}

void start_again(Job& job, const AttemptEnd& end, const RestartRules& rules) {
  if (end.never_began) {
    job.state = JobState::kQueued;
    job.reason = end.problem.empty() ? "" : "could not be started: " + end.problem;
    return;
  }
  const std::string cause = meaning(end);
  count_interruption(job, cause);
  if (job.interruptions > rules.most_interruptions) {
    job.state = JobState::kFailed;
    job.reason =
        fmt::format("interrupted {} times in a row without a new checkpoint: {}", job.interruptions, job.cause);
    return;
  }
  job.state = JobState::kQueued;
  job.reason = "interrupted: " + cause;
}

void follow_request(Job& job, const AttemptEnd& end) {
  const std::string how = meaning(end);
  switch (job.purpose) {
    case StopPurpose::kCancel:
      job.state = JobState::kCancelled;
      job.reason = "cancelled by the user; " + how;
      break;
    case StopPurpose::kPause:
      job.state = JobState::kPaused;
      job.reason = "paused by the user; " + how;
      break;
    default:
      job.state = JobState::kQueued;
      job.reason = "made room for a job of higher priority; " + how;
  }
}

}  // namespace

bool may_pass(int error) {
  // The last ones: the program is being replaced, or a file system does not answer.
  constexpr std::array kPassing{ENOSPC, EDQUOT, EFBIG,   ENOMEM, EAGAIN, EMFILE,
                                ENFILE, ENOENT, ETXTBSY, EACCES, EIO,    ESTALE};
  return std::ranges::find(kPassing, error) != kPassing.end();
}

bool may_stay(int error) { return error == ENOENT || error == EACCES; }

std::string meaning(const AttemptEnd& end) {
  if (!end.problem.empty()) return end.problem;
  if (end.never_began) return "no process was started";
  if (end.signal != 0) return fmt::format("signal {} ({})", end.signal, ::strsignal(end.signal));
  if (!end.exit_code) return "there is no record of how its processes ended";
  const auto known =
      std::ranges::find(kMeanings, static_cast<ExitCode>(*end.exit_code), [](const auto& row) { return row.first; });
  return fmt::format("exit status {}: {}", *end.exit_code, known == kMeanings.end() ? "unknown" : known->second);
}

void settle(Job& job, const AttemptEnd& end, const RestartRules& rules) {
  job.exit_code = end.exit_code;
  forget_interruptions_before_checkpoint(job, end);
  const bool asked = job.purpose != StopPurpose::kNone;
  if (!is_interruption(end)) {
    job.state = end.exit_code && end.problem.empty() ? state_after_exit(*end.exit_code) : JobState::kFailed;
    if (job.state != JobState::kSucceeded && job.purpose == StopPurpose::kCancel) job.state = JobState::kCancelled;
    job.reason = meaning(end);
  } else if (asked) {
    follow_request(job, end);
  } else {
    start_again(job, end, rules);
  }
  if (!end.never_began) job.checkpoint = end.checkpoint;
  job.peak_bytes = std::max(job.peak_bytes, end.peak_bytes);
  job.purpose = StopPurpose::kNone;
  job.gpus.clear();
}

base::Duration restart_delay(const Job& job, const RestartRules& rules) {
  if (job.interruptions == 0) return {};
  const auto doublings = std::min<std::int64_t>(job.interruptions - 1, 20);
  return std::min(rules.first_delay * (std::int64_t{1} << doublings), rules.longest_delay);
}

}  // namespace esper::jobs
