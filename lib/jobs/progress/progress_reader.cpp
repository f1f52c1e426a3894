#include "jobs/progress/progress_reader.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <sys/stat.h>

#include <algorithm>
#include <utility>

#include "base/file_system.h"
#include "base/parse_number.h"
#include "config/training_config.h"
#include "history/setting_change.h"
#include "runs/changed_epochs.h"
#include "runs/config_text.h"

namespace esper::jobs {
namespace {

constexpr std::uint64_t kMostConfigBytes = 1 << 20;

std::int64_t count_in(std::string_view text) {
  return std::max<std::int64_t>(base::parse_number<std::int64_t>(text).value_or(0), 0);
}

// Changes with the file.
std::string stamp_of(const struct stat& status) {
  return fmt::format("{} {} {}.{}", status.st_ino, status.st_size, status.st_mtim.tv_sec, status.st_mtim.tv_nsec);
}

std::string stamp_of_config(const runs::FolderReader::OpenFile& file) {
  struct stat status{};
  if (::fstat(file.descriptor.number(), &status) < 0) throw base::IoError("stat", file.path, errno);
  return stamp_of(status);
}

// Empty where no settings were changed.
std::string stamp_of_changes(const runs::FolderReader& folder) {
  struct stat status{};
  const int failed = ::fstatat(folder.descriptor().number(), history::kAcceptedChanges, &status, AT_SYMLINK_NOFOLLOW);
  return failed == 0 ? stamp_of(status) : "";
}

// 0: unknown, as where the accepted changes cannot be read.
std::int64_t planned_epochs(const std::string& run, const runs::ConfigText& config) {
  try {
    const auto changed = runs::changed_epochs(run);
    return changed ? *changed : count_in(config.value_of("epochs").value_or(""));
  } catch (const base::Error&) {
    return 0;
  }
}

}  // namespace

ProgressReader::Look ProgressReader::look(const Job& job, const ProgressMark& since) {
  Run& run = run_of(job);
  try {
    read(run);
  } catch (const base::IoError&) {
    // It is about to be made, or is gone: what was read of it is all that there is.
  }
  const bool goes_on = since.reading == run.reading;
  Look look{run.course.since(goes_on ? since.revision : 0),
            {run.reading, run.course.revision(), run.facts.planned_epochs}};
  look.progress.job = job.id;
  look.progress.planned_epochs = run.facts.planned_epochs;
  look.progress.metric = run.facts.metric;
  return look;
}

void ProgressReader::keep(const std::vector<Job>& running) {
  kept_.clear();
  for (const Job& job : running) kept_.insert(job.id);
}

ProgressReader::Run& ProgressReader::run_of(const Job& job) {
  if (!runs_.contains(job.id)) forget_some();
  Run& run = runs_[job.id];
  run.folder = job.run_dir;
  run.last_used = ++looks_;
  if (run.reading == 0) run.reading = looks_;
  return run;
}

// Makes room for one more, as far as that many are not kept.
void ProgressReader::forget_some() {
  const auto rank = [this](const auto& entry) {
    return std::pair(kept_.contains(entry.first), entry.second.last_used);
  };
  while (runs_.size() >= kMostRuns) {
    const auto next = std::ranges::min_element(runs_, {}, rank);
    if (kept_.contains(next->first)) return;
    runs_.erase(next);
  }
}

void ProgressReader::read(Run& run) {
  const runs::FolderReader folder(run.folder);
  const auto config = folder.open("config.yaml");
  forget_run_before(run, stamp_of_config(config));
  read_facts(run, folder, config);
  run.tail.look(folder, run.folder, [&](std::string_view line) { run.course.take(line); });
}

// Of a job that was retried after its run folder had been deleted. A run that goes on with other settings is read
// again, too.
void ProgressReader::forget_run_before(Run& run, const std::string& config_stamp) {
  if (run.config_stamp == config_stamp) return;
  run.config_stamp = config_stamp;
  run.tail = {};
  run.course = {};
  run.reading = run.last_used;
}

void ProgressReader::read_facts(Run& run, const runs::FolderReader& folder,
                                const runs::FolderReader::OpenFile& config) {
  const std::string stamp = run.config_stamp + "; " + stamp_of_changes(folder);
  if (stamp == run.facts_stamp) return;
  run.facts_stamp = stamp;
  run.facts = {};
  const auto text = runs::ConfigText::read(config.read(0, kMostConfigBytes));
  if (!text) return;
  run.facts.planned_epochs = planned_epochs(run.folder, *text);
  const auto metric = base::from_name<config::Metric>(text->value_of("training.metric").value_or(""));
  if (metric) run.facts.metric = base::name_of(*metric);
}

}  // namespace esper::jobs
