#pragma once
// The progress of a run, apart from tensors: plain data that a checkpoint stores as JSON and a resumed run continues
// from.

#include <cstdint>
#include <map>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "step/step_metrics.h"
#include "tolaria/run/control_record.h"
#include "tolaria/run/validation_window.h"

namespace esper::tolaria {

struct EpochFigures {
  double loss = 0;      // mean over samples
  double accuracy = 0;  // 0..1
};

struct BestEpoch {
  std::uint32_t epoch = 0;  // epochs completed at that point
  double loss = 0, accuracy = 0;
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
  std::optional<BestEpoch> best;        // lowest validation loss
  std::optional<double> patience_loss;  // the loss that an epoch must beat by early_stop_min_delta
  std::uint32_t epochs_without_better = 0;
  Ewma loss, gradient_norm;
  GradientShares gradient_shares;         // of the last completed epoch
  std::uint64_t conservative_epochs = 0;  // number of epochs whose decision was late or failed
  ControlRecord control;
  ValidationWindow window;  // of the last epochs, as the policy needs them
};

// Adds the measurements of the epoch just evaluated, which `epoch` does not count yet. Returns true if its validation
// loss is the lowest so far. min_delta: the decrease in loss that restarts the patience of early stopping.
bool record_epoch(RunProgress& progress, const step::StepMetrics& metrics, const EpochFigures& validation,
                  double min_delta);

// Replaces the last completed epoch's validation, since its network changed after it was measured. best_before: what
// was the best epoch before that one. Returns true if it is the best now.
bool replace_validation(RunProgress& progress, const EpochFigures& validation,
                        const std::optional<BestEpoch>& best_before);

// What checkpoints carry of it among their tensors; restore_tensors() takes them back.
std::vector<kasmina::NamedTensor> progress_tensors(const RunProgress& progress);
base::Expected<void> restore_tensors(RunProgress& progress, const std::vector<kasmina::NamedTensor>& saved);

// Without those tensors.
nlohmann::json to_json(const RunProgress& progress);
// Throws nlohmann::json::exception if a field is missing or of another type, std::out_of_range for an invalid count.
RunProgress run_progress_from_json(const nlohmann::json& saved);

}  // namespace esper::tolaria
