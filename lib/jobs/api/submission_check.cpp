#include "jobs/api/submission_check.h"

#include <fmt/core.h>

#include <algorithm>
#include <filesystem>
#include <system_error>
#include <vector>

#include "base/file_system.h"
#include "base/text/joined.h"
#include "base/text/printable.h"
#include "base/text/problem.h"
#include "history/run_place.h"
#include "jobs/job/repeat.h"
#include "jobs/job/run_folder.h"
#include "jobs/schedule/run_file.h"
#include "storage/real_file_system.h"
#include "sweep/sweep_file.h"

namespace esper::jobs {
namespace {

// Of a sweep's configurations: nothing else is answered meanwhile. `esper sweep` has checked them all.
constexpr std::size_t kMostChecked = 100;
constexpr std::size_t kMostNameBytes = 200;

bool is_absolute_path(const std::string& path) { return path.starts_with('/') && path.find('\0') == std::string::npos; }

bool is_job_name(const std::string& name) {
  return !name.empty() && name.size() <= kMostNameBytes && name[0] != '.' && name.find('/') == std::string::npos &&
         base::printable_line(name) == name;
}

constexpr const char* kNameRule =
    "name: needs 1 to 200 bytes of UTF-8, no \"/\" and no control characters, and may not begin with a dot";

void check_config(const std::string& config, std::vector<std::string>& mistakes) {
  for (const auto& problem : read_run_file(config).problems) mistakes.push_back("config: " + base::to_string(problem));
}

bool is_folder(const std::string& path) {
  std::error_code ignored;
  return is_absolute_path(path) && std::filesystem::is_directory(path, ignored);
}

// The folder to make lies in one that exists, or in one that can be made there. Returns what is in the way; empty:
// nothing.
std::string obstacle_to(const std::filesystem::path& run_dir) {
  using Type = std::filesystem::file_type;
  std::error_code ignored;
  auto place = run_dir;
  auto type = std::filesystem::status(place, ignored).type();
  while (type == Type::not_found && place.has_relative_path()) {
    place = place.parent_path();
    type = std::filesystem::status(place, ignored).type();
  }
  if (type == Type::directory) return "";
  return fmt::format("the run folder {} cannot be made: {} {}; choose another place", run_dir.string(), place.string(),
                     type == Type::none ? "cannot be accessed" : "is not a folder");
}

// Why a job cannot have this run folder, apart from what lies above it; empty: it can. A job continues no run but its
// own. A folder that cannot be looked at now is left to the start of the job.
std::string why_taken(const std::string& run_dir) {
  try {
    if (!has_run_folder(run_dir)) return history::why_holds_runs(storage::real_file_system(), run_dir);
  } catch (const base::IoError&) {
    return {};
  }
  return fmt::format(
      "run folder {} already contains a run; choose another one, or continue that run with esper train "
      "--resume {}",
      run_dir, run_dir);
}

std::string why_within_run(const std::string& run_dir) {
  return history::why_within_run(storage::real_file_system(), run_dir);
}

// A run that training refuses to make would fail when the job is to begin.
std::string why_no_run_in(const Submission& submission) {
  if (submission.run_dir.empty()) return why_within_run(submission.runs_dir + "/" + submission.name);
  if (auto reason = why_within_run(submission.run_dir); !reason.empty()) return reason;
  if (submission.seeds.empty()) return why_taken(submission.run_dir);
  if (submission.seeds.size() > kMostRepeats) return {};  // refused for that
  for (const auto seed : submission.seeds) {
    if (auto reason = why_taken(run_dir_of_seed(submission.run_dir, seed)); !reason.empty()) return reason;
  }
  return {};
}

void check_after(const std::vector<JobId>& after, std::vector<std::string>& mistakes) {
  if (after.size() > kMostAfter)
    mistakes.push_back(fmt::format("after: at most {} jobs, found {}", kMostAfter, after.size()));
}

// Of all jobs that the submission makes, in one transaction in which nothing else is answered.
void check_amounts(const Submission& submission, std::vector<std::string>& mistakes) {
  const std::size_t seeds = submission.seeds.size(), after = submission.after.size();
  if (seeds > kMostRepeats) mistakes.push_back(fmt::format("seeds: at most {}, found {}", kMostRepeats, seeds));
  check_after(submission.after, mistakes);
  if (seeds * after > kMostDependencies) {
    mistakes.push_back(
        fmt::format("after: {} jobs for each of {} seeds are {}, of at most {}; submit fewer seeds at a time", after,
                    seeds, seeds * after, kMostDependencies));
  }
  if (seeds * submission.config.size() > kMostRunFileBytes) {
    mistakes.push_back(fmt::format(
        "seeds: {} run files of {} bytes have more than {} MiB; submit fewer seeds at a time, or a sweep, which keeps "
        "one run file for all (esper sweep)",
        seeds, submission.config.size(), kMostRunFileBytes >> 20));
  }
}

}  // namespace

std::string mistakes_in(const Submission& submission, FolderCheck folder) {
  std::vector<std::string> mistakes;
  if (!is_job_name(submission.name)) mistakes.emplace_back(kNameRule);
  if (folder == FolderCheck::kExists ? !is_folder(submission.folder) : !is_absolute_path(submission.folder))
    mistakes.emplace_back("folder: needs the absolute path of a folder that exists");
  const std::string& place = submission.run_dir.empty() ? submission.runs_dir : submission.run_dir;
  if (!is_absolute_path(place)) {
    mistakes.push_back("run_dir, or runs_dir: needs an absolute path");
  } else if (folder == FolderCheck::kExists) {
    auto obstacle = obstacle_to(place);
    if (obstacle.empty()) obstacle = why_no_run_in(submission);
    if (!obstacle.empty()) mistakes.push_back(obstacle);
  }
  const auto& needs = submission.needs;
  if (needs.threads < 0 || needs.memory_bytes < 0 || needs.gpus < kGpusByDevice)
    mistakes.push_back("needs: no number may be below 0; gpus may be -1: as many as the run file's device asks for");
  check_amounts(submission, mistakes);
  check_config(submission.config, mistakes);
  return base::joined(mistakes, "; ");
}

std::string mistakes_in(const JobChange& change) {
  std::vector<std::string> mistakes;
  if (change == JobChange{})
    mistakes.emplace_back("nothing to change: give name, priority, after, threads, memory_bytes, gpus or config");
  if (change.name && !is_job_name(*change.name)) mistakes.emplace_back(kNameRule);
  for (const auto& [field, number] : {std::pair{"threads", change.threads}, std::pair{"gpus", change.gpus},
                                      std::pair{"memory_bytes", change.memory_bytes}}) {
    if (number.value_or(0) < 0) mistakes.push_back(fmt::format("{}: may not be below 0", field));
  }
  if (change.after) check_after(change.after->ids, mistakes);
  if (change.config.has_value() != change.config_before.has_value())
    mistakes.emplace_back("config and config_before (the run file that config was made from) must be given together");
  if (change.config) check_config(*change.config, mistakes);
  return base::joined(mistakes, "; ");
}

std::string mistakes_in(const SweepSubmission& submission) {
  std::vector<std::string> mistakes;
  if (!is_folder(submission.folder)) mistakes.push_back("folder: needs the absolute path of a folder that exists");
  const auto read = sweep::read_stored_sweep({submission.sweep, submission.run_file}, kMostChecked);
  const std::string& place = submission.runs_dir;
  if (!is_absolute_path(place)) {
    mistakes.push_back("runs_dir: needs an absolute path");
  } else {
    auto obstacle = obstacle_to(place);
    if (obstacle.empty() && read.problems.empty()) obstacle = why_within_run(place + "/" + read.sweep.settings.name);
    if (!obstacle.empty()) mistakes.push_back(obstacle);
  }
  if (submission.gpus < kGpusByDevice) mistakes.push_back("gpus: may not be below -1 (-1: by the run file's device)");
  if (submission.memory_bytes < 0) mistakes.push_back("memory_bytes: may not be below 0");
  for (const auto& problem : read.problems) mistakes.push_back(base::to_string(problem));
  return base::joined(mistakes, "; ");
}

}  // namespace esper::jobs
