#include "jobs/sweeps/sweep_expansion.h"

#include <fmt/core.h>

#include <filesystem>
#include <string>
#include <system_error>

#include "jobs/store/run_stamp.h"
#include "jobs/store/sweep_store.h"
#include "jobs/store/trial_store.h"
#include "jobs/sweeps/loaded_sweep.h"
#include "jobs/sweeps/sweep_plan.h"
#include "sweep/run_file.h"

namespace esper::jobs {
namespace {

bool is_there(const std::string& path) {
  std::error_code ignored;
  return std::filesystem::exists(std::filesystem::symlink_status(path, ignored));
}

// A job continues the run that it finds in its folder: none of another sweep may be there.
std::string free_run_dir(SweepStore& sweeps, const std::string& wanted) {
  std::string free = wanted;
  for (int number = 2; is_there(free) || sweeps.has_run_dir(free); ++number)
    free = fmt::format("{}-{}", wanted, number);
  return free;
}

// The threads of a configuration, which may be one of its parameters.
std::int64_t threads_in(const sweep::Sweep& sweep, const sweep::Configuration& configuration, std::int64_t threads) {
  for (std::size_t at = 0; at < configuration.size(); ++at)
    if (sweep.parameters[at].key == "device.threads") return std::stoll(configuration[at]);
  return threads;
}

std::vector<JobId> insert_jobs(JobStore& jobs, const SweepRecord& record, const LoadedSweep& loaded,
                               const SweepSubmission& submission, const Asked& asked) {
  const sweep::Sweep& sweep = loaded.sweep;
  const Turn turn = sweep.settings.method == sweep::Method::kHalving ? Turn::kIdle : Turn::kDue;
  const std::int64_t threads = sweep::read_with(sweep, {}).config.device.threads;
  Submission job{.folder = record.folder, .priority = submission.priority, .hold = true, .sweep = record.id};
  job.epochs = epochs_of_rung(sweep, 0);
  job.needs.gpus = submission.gpus;
  job.needs.memory_bytes = submission.memory_bytes;
  TrialStore trials(jobs.database());
  std::vector<JobId> ids;
  for (std::size_t at = 0; at < loaded.configurations.size(); ++at) {
    job.needs.threads = threads_in(sweep, loaded.configurations[at], threads);
    for (std::size_t seed = 0; seed < sweep.seeds.size(); ++seed) {
      job.name = fmt::format("{}-{}-seed-{}", record.name, at, sweep.seeds[seed]);
      job.run_dir = fmt::format("{}/{:04}-seed-{}", record.run_dir, at, sweep.seeds[seed]);
      const JobId made = jobs.insert_trial(job, asked);
      trials.add(record.id, {.job = made, .configuration = at, .seed = seed, .turn = turn});
      ids.push_back(made);
    }
  }
  return ids;
}

}  // namespace

ExpandedSweep expand_into(JobStore& jobs, const SweepSubmission& submission, const Asked& asked) {
  const LoadedSweep loaded = load_sweep(submission.sweep, submission.run_file);
  const std::string& name = loaded.sweep.settings.name;
  SweepStore sweeps(jobs.database());
  SweepRecord record{
      .name = name,
      .state = submission.hold ? SweepState::kHeld : SweepState::kActive,
      .folder = submission.folder,
      .run_dir = free_run_dir(sweeps, fmt::format("{}/{}-{}", submission.runs_dir, name, run_stamp(asked.at_ms))),
      .submitted_ms = asked.at_ms,
      .uid = asked.uid};
  record.id = sweeps.insert(record, submission);
  auto made = insert_jobs(jobs, record, loaded, submission, asked);
  add_to_audit(jobs.database(), {asked.at_ms, asked.uid, asked.what, fmt::format("sweep {}: {}", record.id, name)},
               std::nullopt);
  return {record.id, std::move(made)};
}

}  // namespace esper::jobs
