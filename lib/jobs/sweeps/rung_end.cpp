#include "jobs/sweeps/rung_end.h"

#include <fmt/core.h>

#include <string>

#include "jobs/store/sweep_jobs.h"
#include "jobs/sweeps/sweep_plan.h"
#include "jobs/sweeps/trial_figure.h"

namespace esper::jobs {

bool is_last_rung(const SweepTrial& trial, const sweep::Sweep& sweep) { return trial.rung + 1 == num_rungs(sweep); }

bool was_left_by_sweep(const Job& job, const SweepTrial& trial, const sweep::Sweep& sweep) {
  return job.epochs > epochs_of_rung(sweep, trial.rung);
}

void stop_at_rung(Job& job, StopPurpose stopped_for, SweepState sweep) {
  const std::string reached = fmt::format("trained to epoch {}; ", job.epochs);
  if (stopped_for == StopPurpose::kCancel) {
    job.state = JobState::kCancelled;
    job.reason = reached + "cancelled by the user";
    return;
  }
  job.state = JobState::kPaused;
  if (stopped_for == StopPurpose::kPause) {
    job.reason = reached + "paused by the user";
    job.ended_ms = 0;
  } else if (sweep == SweepState::kCancelled) {
    job.reason = reached + fmt::format("its sweep was cancelled: esper job resume {} continues it", job.id);
  } else {
    job.reason = reached + std::string(kMayGoOn);
    job.ended_ms = 0;
  }
}

std::optional<double> result_at_rung(const Job& job, const SweepTrial& trial, const sweep::Sweep& sweep,
                                     StopPurpose stopped_for) {
  const bool has_reached_it = job.state == JobState::kSucceeded && !was_left_by_sweep(job, trial, sweep);
  if (!has_reached_it || (!is_last_rung(trial, sweep) && stopped_for == StopPurpose::kPause)) return std::nullopt;
  return figure_of_run(job.run_dir, sweep.settings.metric, job.epochs);
}

}  // namespace esper::jobs
