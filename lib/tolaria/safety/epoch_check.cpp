#include "tolaria/safety/epoch_check.h"

#include <cmath>
#include <utility>

#include "step/finite_watch.h"

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

std::string why_bad(const EpochCheck::Epoch& epoch, const step::Model& model, const GoodState& good_state) {
  if (!epoch.nonfinite_reason.empty()) return epoch.nonfinite_reason;
  std::string reason = divergence(epoch.metrics, epoch.measured, model);
  return reason.empty() ? good_state.loss_explosion(epoch.measured) : reason;
}

LossVerdict judge(const Measurements& measured, const RunFacts& facts, const RunProgress& progress) {
  if (!facts.config.safety.watch_loss) return {};
  return judge_loss({measured.running.loss, measured.running.score, facts.num_classes}, progress.safety);
}

}  // namespace

EpochCheck::Result EpochCheck::check(const Epoch& epoch) {
  if (const std::string reason = why_bad(epoch, evaluation_.model, safety_.good_state()); !reason.empty()) {
    if (auto outcome = undo(reason, epoch)) return {{}, std::move(outcome)};
  }
  LossVerdict verdict = judge(epoch.measured, evaluation_.facts, progress_);
  if (verdict.kind == LossVerdict::Kind::kBad) return {{}, safety_.fail_epoch(verdict.reason)};
  return {std::move(verdict)};
}

std::optional<RunOutcome> EpochCheck::undo(const std::string& reason, const Epoch& epoch) {
  GoodState& good_state = safety_.good_state();
  const bool may_have_bundle = bundles_ != nullptr && !epoch.nonfinite_reason.empty();
  auto bundle = may_have_bundle ? bundles_->release_kept() : std::nullopt;
  if (auto outcome = safety_.restart_before_epoch(reason)) return outcome;
  if (!good_state.has_growing_seeds() || !good_state.rollback(reason)) return safety_.fail_epoch(reason);
  transaction_.begin_at(good_state.snapshot_progress());
  if (!measure_again(reason, std::move(bundle), epoch)) return end_.interrupted();
  const std::string still_bad = divergence(epoch.metrics, epoch.measured, evaluation_.model);
  return still_bad.empty() ? std::nullopt : std::optional(safety_.fail_epoch(still_bad));
}

// False where a signal ended it. Then, and after an error, the run is where the epoch began.
bool EpochCheck::measure_again(const std::string& reason, std::optional<StepBundles::Kept> bundle, const Epoch& epoch) {
  try {
    if (bundle) write_bundle(std::move(*bundle), epoch);
    if (safety_.good_state().measure_again(reason, epoch.metrics, epoch.measured)) return true;
  } catch (...) {
    give_up_end();
    throw;
  }
  give_up_end();
  return false;
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
