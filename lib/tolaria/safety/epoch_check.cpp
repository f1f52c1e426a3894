#include "tolaria/safety/epoch_check.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <deque>
#include <utility>
#include <vector>

#include "base/signal_point.h"
#include "kasmina/network/alpha_override.h"
#include "kasmina/network/network_seeds.h"
#include "step/finite_watch.h"
#include "tolaria/evaluation/averaged_model.h"
#include "tolaria/safety/loss_watch.h"

namespace esper::tolaria {
namespace {

std::string why_diverged(const step::StepMetrics& metrics, const Measurements& measured) {
  if (metrics.steps == 0) return "no step of the epoch could be trained; tolaria.step_skipped says why";
  if (!std::isfinite(metrics.loss)) return "the training loss is not finite";
  if (!std::isfinite(measured.running.loss)) return "the validation loss is not finite";
  return {};
}

// With the first tensor that is not finite, where one is.
std::string divergence(const step::StepMetrics& metrics, const Measurements& measured, const step::Model& model) {
  std::string reason = why_diverged(metrics, measured);
  if (reason.empty()) return reason;
  const auto tensors = step::all_tensors(model, model.state.device);
  if (const auto tensor = step::first_not_finite(tensors, {}); !tensor.empty()) reason += "; nor is " + tensor;
  return reason;
}

// Why these finite measurements are not a state to continue from; empty if they are, or if there is no snapshot, or no
// growing seed.
std::string loss_explosion(const Measurements& measured, const GoodState& good_state) {
  const double loss = measured.running.loss;
  // Without an earlier measurement of this network, no finite loss counts as a rise.
  const auto& validation = good_state.snapshot_progress().validation;
  if (good_state.snapshot() == nullptr || !validation || !good_state.has_growing_seeds()) return {};
  const double before = validation->loss;
  if (!(loss > kLossBound) || !(loss > kLossRatio * before)) return {};
  return fmt::format("the validation loss rose from {:.4g} to {:.4g}", before, loss);
}

std::string why_bad(const EpochCheck::Epoch& epoch, const step::Model& model, const GoodState& good_state) {
  if (!epoch.nonfinite_reason.empty()) return epoch.nonfinite_reason;
  std::string reason = divergence(epoch.metrics, epoch.measured, model);
  return reason.empty() ? loss_explosion(epoch.measured, good_state) : reason;
}

bool lost_active_seed(const Measurements& measured, const kasmina::Network& network) {
  if (measured.undone_seeds.empty()) return false;
  return std::ranges::any_of(kasmina::export_seed_states(network.state()), [&](const leyline::SeedState& seed) {
    return seed.figures.alpha != 0 && std::ranges::count(measured.undone_seeds, seed.seed_id) > 0;
  });
}

LossVerdict judge(const Measurements& measured, const Evaluation& evaluation, const RunProgress& progress) {
  const RunFacts& facts = evaluation.facts;
  if (!facts.config.safety.watch_loss) return {};
  return judge_loss({measured.running.loss, measured.running.score, facts.num_classes,
                     lost_active_seed(measured, evaluation.model.network)},
                    progress.safety);
}

// At an epoch's end.
std::vector<std::string> suspects(const Evaluation& evaluation, const RunProgress& progress) {
  const auto& network = evaluation.model.network.state();
  const auto growing = kasmina::growing_seeds(network), active = kasmina::active_seeds(network);
  if (progress.safety.failures_before(progress.step) > 0) return growing;
  return {active.empty() ? growing.back() : active.back()};
}

// Evaluates the network without the seeds: at alpha 0 a finite one adds exactly nothing.
ValidationResult validate_without(const std::vector<std::string>& seeds, const Evaluation& evaluation) {
  const auto& [model, loader, train, facts, ledger, forward] = evaluation;
  const base::LedgerScope validating(ledger, base::Owner::kValidation);
  base::fault::signal_point("tolaria.validating");
  std::deque<kasmina::AlphaOverride> silent;
  for (const auto& id : seeds) silent.emplace_back(model.network.state(), id, 0.0);
  const AveragedModel averaged(model, train, facts.config, facts.device);
  return validation_pass(model, loader, facts.device);
}

// The previous epoch's values, for the steps of this one.
step::StepMetrics undone_metrics(const step::StepMetrics& metrics, const RunProgress& progress) {
  step::StepMetrics undone;
  undone.loss = progress.train.loss;
  undone.accuracy = progress.train.score;
  undone.samples = metrics.samples;
  undone.steps = metrics.steps;
  undone.clipped_steps = metrics.clipped_steps;
  undone.nonfinite_steps = metrics.nonfinite_steps;
  undone.gradient_norm = progress.gradient_norm.mean.value_or(0);
  return undone;
}

}  // namespace

EpochCheck::Result EpochCheck::check(const Epoch& epoch) {
  const step::StepMetrics trained = epoch.metrics;
  if (const std::string reason = why_bad(epoch, evaluation_.model, safety_.good_state()); !reason.empty()) {
    if (auto outcome = undo(reason, epoch, trained)) return {{}, std::move(outcome)};
  }
  LossVerdict verdict = judge(epoch.measured, evaluation_, progress_);
  if (verdict.kind == LossVerdict::Kind::kBad) return {{}, safety_.fail_epoch(verdict.reason, trained)};
  return {std::move(verdict)};
}

std::optional<RunOutcome> EpochCheck::undo(const std::string& reason, const Epoch& epoch,
                                           const step::StepMetrics& trained) {
  GoodState& good_state = safety_.good_state();
  const bool may_have_bundle = bundles_ != nullptr && !epoch.nonfinite_reason.empty();
  auto bundle = may_have_bundle ? bundles_->release_kept() : std::nullopt;
  if (auto outcome = safety_.restart_before_epoch(reason)) return outcome;
  if (!good_state.has_growing_seeds() || !good_state.rollback(reason)) return safety_.fail_epoch(reason, trained);
  transaction_.begin_at(good_state.snapshot_progress());
  if (!measure_again(reason, std::move(bundle), epoch)) return end_.interrupted();
  const std::string still_bad = divergence(epoch.metrics, epoch.measured, evaluation_.model);
  return still_bad.empty() ? std::nullopt : std::optional(safety_.fail_epoch(still_bad, trained));
}

// False where a signal ended it. Then, and after an error, the run is where the epoch began.
bool EpochCheck::measure_again(const std::string& reason, std::optional<StepBundles::Kept> bundle, const Epoch& epoch) {
  try {
    if (bundle) write_bundle(std::move(*bundle), epoch);
    if (measure_without_suspects(reason, epoch)) return true;
  } catch (...) {
    give_up_end();
    throw;
  }
  give_up_end();
  return false;
}

// The epoch ends with the state that the run was rolled back to. False if a signal ended it: then its figures are of no
// use.
bool EpochCheck::measure_without_suspects(const std::string& reason, const Epoch& epoch) {
  {
    const base::LedgerScope restoring(evaluation_.ledger, base::Owner::kRollback);
    step::read_metrics(evaluation_.model.state);  // a copy from within an epoch holds its partial sums
  }
  Measurements& measured = epoch.measured;
  epoch.metrics = undone_metrics(epoch.metrics, progress_);
  measured = {};
  measured.undone = reason + " while it grew";
  measured.undone_seeds = suspects(evaluation_, progress_);
  measured.running = validate_without(measured.undone_seeds, evaluation_);
  if (!measured.running.complete) return false;
  if (std::isfinite(measured.running.loss) && loss_explosion(measured, safety_.good_state()).empty()) return true;
  measured.undone_seeds = kasmina::growing_seeds(evaluation_.model.network.state());
  measured.running = validate_without(measured.undone_seeds, evaluation_);
  return measured.running.complete;
}

void EpochCheck::give_up_end() {
  transaction_.rollback();
  safety_.restore_good_state();
}

// The model is rolled back: trains up to the step of the bundle once more, and rolls back again.
void EpochCheck::write_bundle(StepBundles::Kept kept, const Epoch& epoch) {
  RunProgress end = progress_;
  const std::int64_t step = kept.facts.step;
  if (safety_.restore_good_state() && epoch.train_up_to(step)) {
    bundles_->adopt(std::move(kept));
    bundles_->write_if_due(step);
  }
  bundles_->release_kept();  // of another step that failed on the way
  safety_.good_state().restore_snapshot();
  progress_ = std::move(end);
}

}  // namespace esper::tolaria
