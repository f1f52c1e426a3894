#pragma once
// The progress of a run, apart from tensors: plain data that a checkpoint stores as JSON and a resumed run continues
// from.

#include <cstdint>
#include <map>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "config/run_config.h"
#include "history/setting_change.h"
#include "step/step_metrics.h"
#include "tolaria/state/control_record.h"
#include "tolaria/state/safety_record.h"
#include "tolaria/state/validation_window.h"

namespace esper::tolaria {

// What a validation pass showed, by figure; those that the run's task has.
using MetricValues = std::map<config::Metric, double>;

struct EpochFigures {
  double loss = 0;           // mean over targets
  double score = 0;          // validation: tolaria/evaluation/score.h; training: accuracy, 0 for regression; 0..1
  MetricValues by_metric{};  // validation: all of them, the loss too; empty in checkpoints of earlier versions
};

struct BestEpoch {
  std::uint32_t epoch = 0;  // epochs completed at that point
  EpochFigures figures;
};

// Exponentially weighted mean and variance, alpha 0.2: m' = a x + (1-a) m, v' = a (x-m)(x-m') + (1-a) v. The first
// value is the first mean: a mean that began at 0 would count the distance from 0 as variance for some 20 values.
struct Ewma {
  std::optional<double> mean;  // empty before the first value
  double variance = 0;
  void add(double value);
};

// A seed's share of the sum of all groups' gradient norms in an epoch, and its change since the epoch before.
struct GradientShare {
  double share = 0, delta = 0;
};

using GradientShares = std::map<std::string, GradientShare>;  // by seed id

struct RunProgress {
  std::uint32_t epoch = 0;  // epochs completed, validation and decision included
  std::int64_t batch = 0;   // microbatches of the current epoch that are trained
  std::int64_t step = 0;    // optimizer steps since the run began
  double wall_s = 0;        // of earlier processes of this run, a fork's parent included
  EpochFigures train;       // of the last completed epoch
  // Of the same epoch; empty until an epoch of this network has ended, at a run's start and in a fork without seeds.
  std::optional<EpochFigures> validation;
  std::optional<BestEpoch> best;  // by checkpoint.best_metric
  // Of the last epoch that was clearly better, which the next must beat in early_stop_metric by early_stop_min_delta.
  std::optional<EpochFigures> patience;
  std::vector<std::string> patience_seeds;  // that were active (alpha above 0) in its network, fossils too
  std::uint32_t epochs_without_better = 0;
  Ewma loss, gradient_norm;
  GradientShares gradient_shares;         // of the last completed epoch
  std::uint64_t conservative_epochs = 0;  // number of epochs whose decision was late or failed
  std::int64_t scaler_skips = 0;          // of `step`, those that fp16's loss scaling skipped in completed epochs
  ControlRecord control;
  SafetyRecord safety;
  ValidationWindow window;  // of the last epochs, as the policy needs them
  // That hold in the present epoch; checkpoints carry those that steps were trained with.
  history::SettingChanges changes;

  // The epoch of the last step, counted from 1; 0 before the first one.
  std::uint32_t trained_epoch() const { return epoch + (batch > 0 ? 1 : 0); }
};

// By which figures epochs are compared.
struct Goals {
  config::Metric best = config::Metric::kLoss, early_stop = config::Metric::kLoss;
  double min_delta = 0;  // by how much an epoch must be better to restart the patience of early stopping
};
inline Goals goals_of(const config::RunConfig& config) {
  return {config.checkpoint.best_metric, config.training.early_stop_metric, config.training.early_stop_min_delta};
}

// Adds the measurements of the epoch just evaluated, which `epoch` does not count yet. Returns true if it is the best
// so far.
bool record_epoch(RunProgress& progress, const step::StepMetrics& metrics, const EpochFigures& validation,
                  const Goals& goals);

// After the end of the epoch that was recorded last. validated, left: ids of the active seeds of the network that was
// validated, and of the one that the epoch's end left. Patience starts again with the next epoch where a seed is gone
// that had a part in its figures: the present network may never come to them.
void follow_seeds(RunProgress& progress, const std::vector<std::string>& validated,
                  const std::vector<std::string>& left);

// Replaces the last completed epoch's validation, since its network changed after it was measured. best_before: what
// was the best epoch before that one. Returns true if it is the best now.
bool replace_validation(RunProgress& progress, const EpochFigures& validation,
                        const std::optional<BestEpoch>& best_before, config::Metric goal);

// What checkpoints carry of it among their tensors; restore_tensors() takes them back.
std::vector<kasmina::NamedTensor> progress_tensors(const RunProgress& progress);
base::Expected<void> restore_tensors(RunProgress& progress, const std::vector<kasmina::NamedTensor>& saved);

// Without those tensors.
nlohmann::json to_json(const RunProgress& progress);
// Throws nlohmann::json::exception if a field is missing or of another type, std::out_of_range for an invalid count
// or time.
RunProgress run_progress_from_json(const nlohmann::json& saved);
// Whether some run may have it. Fails with the first count that is beyond what the run had come to, as
// "safety.good_step is 90, beyond step 50".
base::Expected<void> check_counts(const RunProgress& progress);

}  // namespace esper::tolaria
