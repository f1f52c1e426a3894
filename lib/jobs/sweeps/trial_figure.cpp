#include "jobs/sweeps/trial_figure.h"

#include <fmt/core.h>

#include <algorithm>
#include <cerrno>
#include <limits>
#include <optional>

#include "base/file_system.h"
#include "base/names.h"
#include "history/growth/checkpoint_list.h"
#include "jobs/job/attempt_end.h"
#include "nissa/log.h"
#include "runs/run_files.h"
#include "runs/run_folder_reader.h"
#include "storage/confined_file_system.h"

namespace esper::jobs {
namespace {

constexpr std::uint64_t kMostSummaryBytes = 1 << 20;

using Figure = std::optional<double>;

// A course that has come to its end.
struct EndedCourse {
  runs::Course course;
  bool is_early = false;  // by training.early_stop_epochs
};

// Of one of the run's files that is missing, or is none that a run leaves: nothing. Another error may pass.
template <class Read>
std::optional<EndedCourse> if_readable(Read read) {
  try {
    return read();
  } catch (const base::IoError& error) {
    const int number = error.error_number();
    if (!may_pass(number) || number == ENOENT || number == EFBIG) return std::nullopt;
    throw;
  }
}

// A process whose summary could not be written, as on a full disk, leaves that of an earlier one, which trained less.
std::optional<EndedCourse> in_summary(const std::string& run_dir) {
  const auto summary = runs::read_summary(runs::FolderReader(run_dir).read("summary.json", kMostSummaryBytes));
  if (!summary || summary->state != runs::RunState::kFinished || !summary->course) return std::nullopt;
  return EndedCourse{*summary->course, summary->stopped_early};
}

std::optional<EndedCourse> in_newest_checkpoint(const std::string& run_dir) {
  storage::ConfinedFileSystem files(run_dir, storage::Owner::kAnyone);
  const auto checkpoints = history::list_checkpoints(files, run_dir + "/checkpoints");
  if (checkpoints.empty()) return std::nullopt;
  const auto course = runs::read_checkpoint_course(files, checkpoints.back().path);
  return course ? std::optional(EndedCourse{*course, false}) : std::nullopt;
}

// Its user may have set the run to more epochs.
bool has_trained_to(const EndedCourse& ended, std::int64_t epochs) {
  return epochs == 0 || ended.is_early || ended.course.epochs >= epochs;
}

Figure figure_in(const runs::Course& course, config::Metric metric) {
  const auto& figures = course.last.figures;
  const auto found = figures.find(std::string(base::name_of(metric)));
  return found == figures.end() ? std::nullopt : std::optional(found->second);
}

}  // namespace

double figure_of_run(const std::string& run_dir, config::Metric metric, std::int64_t epochs) {
  std::int64_t trained = 0;
  for (const auto read : {in_summary, in_newest_checkpoint}) {
    const auto ended = if_readable([&] { return read(run_dir); });
    if (!ended) continue;
    trained = std::max(trained, ended->course.epochs);
    const auto figure = has_trained_to(*ended, epochs) ? figure_in(ended->course, metric) : std::nullopt;
    if (!figure) continue;
    if (epochs > 0 && ended->course.epochs > epochs)
      nissa::log::warning(fmt::format(
          "{} should have been trained to epoch {} but was trained to epoch {}: its {} is that of the latter", run_dir,
          epochs, ended->course.epochs, base::name_of(metric)));
    return *figure;
  }
  nissa::log::warning(
      fmt::format("{} has no {} of its last epoch{}, neither in summary.json nor in its newest checkpoint: these are "
                  "of epoch {} at most",
                  run_dir, base::name_of(metric), epochs > 0 ? fmt::format(" {}", epochs) : "", trained));
  return std::numeric_limits<double>::quiet_NaN();
}

}  // namespace esper::jobs
