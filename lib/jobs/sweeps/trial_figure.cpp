#include "jobs/sweeps/trial_figure.h"

#include <fmt/core.h>

#include <limits>
#include <optional>

#include "base/file_system.h"
#include "base/names.h"
#include "history/checkpoint_list.h"
#include "nissa/log.h"
#include "runs/run_files.h"
#include "runs/run_folder_reader.h"
#include "storage/confined_file_system.h"

namespace esper::jobs {
namespace {

constexpr std::uint64_t kMostSummaryBytes = 1 << 20;

using Figure = std::optional<double>;

bool trained_to(const runs::Course& course, std::int64_t epochs) { return epochs == 0 || course.epochs == epochs; }

Figure figure_in(const runs::Course& course, config::Metric metric) {
  const auto& figures = course.last.figures;
  const auto found = figures.find(std::string(base::name_of(metric)));
  return found == figures.end() ? std::nullopt : std::optional(found->second);
}

// A process whose summary could not be written, as on a full disk, leaves that of an earlier one, which trained less.
Figure figure_in_summary(const std::string& run_dir, config::Metric metric, std::int64_t epochs) {
  try {
    const auto summary = runs::read_summary(runs::FolderReader(run_dir).read("summary.json", kMostSummaryBytes));
    if (!summary || summary->state != runs::RunState::kFinished) return std::nullopt;
    if (!summary->stopped_early && !trained_to(summary->course, epochs)) return std::nullopt;
    return figure_in(summary->course, metric);
  } catch (const base::IoError&) {
    return std::nullopt;
  }
}

Figure figure_in_checkpoint(const std::string& run_dir, config::Metric metric, std::int64_t epochs) {
  try {
    storage::ConfinedFileSystem files(run_dir, storage::Owner::kAnyone);
    const auto checkpoints = history::list_checkpoints(files, run_dir + "/checkpoints");
    if (checkpoints.empty()) return std::nullopt;
    const auto course = runs::read_checkpoint_course(files, checkpoints.back().path);
    if (!course || !trained_to(*course, epochs)) return std::nullopt;
    return figure_in(*course, metric);
  } catch (const base::IoError&) {
    return std::nullopt;
  }
}

}  // namespace

double figure_of_run(const std::string& run_dir, config::Metric metric, std::int64_t epochs) {
  if (const auto figure = figure_in_summary(run_dir, metric, epochs)) return *figure;
  if (const auto figure = figure_in_checkpoint(run_dir, metric, epochs)) return *figure;
  nissa::log::warning(
      fmt::format("{} has no {} of its last epoch, neither in summary.json nor in its newest checkpoint", run_dir,
                  base::name_of(metric)));
  return std::numeric_limits<double>::quiet_NaN();
}

}  // namespace esper::jobs
