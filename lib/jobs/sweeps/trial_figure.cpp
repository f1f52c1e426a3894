#include "jobs/sweeps/trial_figure.h"

#include <limits>

#include "base/file_system.h"
#include "base/names.h"
#include "runs/run_files.h"
#include "runs/run_folder_reader.h"

namespace esper::jobs {
namespace {

constexpr std::uint64_t kMostSummaryBytes = 1 << 20;

}  // namespace

double figure_of_run(const std::string& run_dir, config::Metric metric) {
  constexpr double kNone = std::numeric_limits<double>::quiet_NaN();
  try {
    const auto summary = runs::read_summary(runs::FolderReader(run_dir).read("summary.json", kMostSummaryBytes));
    if (!summary) return kNone;
    const auto& figures = summary->course.last.figures;
    const auto found = figures.find(std::string(base::name_of(metric)));
    return found == figures.end() ? kNone : found->second;
  } catch (const base::IoError&) {
    return kNone;
  }
}

}  // namespace esper::jobs
