#include "jobs/sweeps/stored_sweeps.h"

#include <fmt/core.h>

#include <optional>

#include "jobs/store/missing_row.h"
#include "jobs/sweeps/sweep_plan.h"
#include "sweep/run_file.h"

namespace esper::jobs {
namespace {

constexpr std::size_t kMostLoaded = 16;

}  // namespace

std::shared_ptr<const LoadedSweep> StoredSweeps::load(SweepId id) {
  if (const auto known = loaded_.find(id); known != loaded_.end()) return known->second;
  const auto texts = sweeps_.texts_of(id);
  if (loaded_.size() >= kMostLoaded) loaded_.clear();
  return loaded_[id] = std::make_shared<const LoadedSweep>(load_sweep(texts.sweep, texts.run_file));
}

std::vector<SweepTrial> StoredSweeps::trials_of(SweepId id) {
  const auto loaded = load(id);
  auto trials = trials_.of_sweep(id);
  if (trials.size() != loaded->configurations.size() * loaded->sweep.seeds.size())
    throw missing_row(fmt::format("a job of sweep {}", id));
  return trials;
}

SweepReport StoredSweeps::report(SweepId id) {
  const auto loaded = load(id);
  const auto progress = progress_of(loaded->sweep, trials_of(id));
  return {*sweeps_.find(id), sweep::summarize(loaded->sweep, progress)};
}

base::Expected<BestConfiguration> StoredSweeps::best(SweepId id) {
  const auto best = report(id).summary.best;
  if (!best) return base::failure(fmt::format("sweep {}: no configuration has all of its seeds yet", id));
  return BestConfiguration{*best, sweep::best_run_file(load(id)->sweep, *best)};
}

std::string StoredSweeps::run_file_of(const Job& job) {
  const auto trial = trials_.find(job.id);
  if (!trial) throw missing_row(fmt::format("the place of job {} in its sweep", job.id));
  const auto loaded = load(job.sweep);
  const auto epochs = job.epochs > 0 ? std::optional(static_cast<int>(job.epochs)) : std::nullopt;
  return sweep::trial_run_file(loaded->sweep, loaded->configurations.at(trial->configuration),
                               loaded->sweep.seeds.at(trial->seed), epochs);
}

}  // namespace esper::jobs
