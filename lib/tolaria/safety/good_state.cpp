#include "tolaria/safety/good_state.h"

#include <fmt/core.h>
#include <torch/types.h>

#include <chrono>
#include <cmath>
#include <deque>
#include <string>
#include <thread>
#include <tuple>
#include <vector>

#include "base/fault.h"
#include "base/signal_point.h"
#include "base/text/rounding.h"
#include "device/out_of_memory.h"
#include "kasmina/network/alpha_override.h"
#include "kasmina/network/network_seeds.h"
#include "leyline/telemetry/telemetry.h"
#include "tolaria/evaluation/averaged_model.h"
#include "tolaria/safety/loss_watch.h"

namespace esper::tolaria {

using step::read_metrics;
using step::StepMetrics;

namespace {

using base::LedgerScope;
using base::Owner;
using leyline::event;
using leyline::Level;
using namespace leyline::literals;

constexpr auto kRollbackDrillDelay = std::chrono::milliseconds(200);

// Evaluates the network without the seeds: at alpha 0 a finite one adds exactly nothing.
ValidationResult validate_without(const std::vector<std::string>& seeds, const Evaluation& evaluation) {
  const auto& [model, loader, train, facts, ledger, forward] = evaluation;
  const LedgerScope validating(ledger, Owner::kValidation);
  base::fault::signal_point("tolaria.validating");
  std::deque<kasmina::AlphaOverride> silent;
  for (const auto& id : seeds) silent.emplace_back(model.network.state(), id, 0.0);
  const AveragedModel averaged(model, train, facts.config, facts.device);
  return validation_pass(model, loader, facts.device);
}

// The previous epoch's values, for the steps of this one.
StepMetrics undone_metrics(const StepMetrics& metrics, const RunProgress& progress) {
  StepMetrics undone;
  undone.loss = progress.train.loss;
  undone.accuracy = progress.train.score;
  undone.samples = metrics.samples;
  undone.steps = metrics.steps;
  undone.clipped_steps = metrics.clipped_steps;
  undone.nonfinite_steps = metrics.nonfinite_steps;
  undone.gradient_norm = progress.gradient_norm.mean.value_or(0);
  return undone;
}

bool is_beyond_limit(const Evaluation& evaluation) {
  const std::int64_t limit_mb = evaluation.facts.config.safety.snapshot_limit_mb;
  if (limit_mb == 0) return false;
  const auto bytes = kasmina::bytes_of(step::all_tensors(evaluation.model, evaluation.facts.device));
  return bytes > static_cast<std::uint64_t>(limit_mb) << 20U;
}

// At an epoch's end.
std::vector<std::string> suspects(const Evaluation& evaluation, const RunProgress& progress) {
  const auto& network = evaluation.model.network.state();
  const auto growing = kasmina::growing_seeds(network), active = kasmina::active_seeds(network);
  if (progress.safety.failures_before(progress.step) > 0) return growing;
  return {active.empty() ? growing.back() : active.back()};
}

}  // namespace

bool GoodState::has_growing_seeds() const { return !kasmina::growing_seeds(evaluation_.model.network.state()).empty(); }

void GoodState::discard_snapshot() {
  snapshot_.reset();
  figures_.size_bytes = 0;
}

void GoodState::take_snapshot() {
  discard_snapshot();
  if (takes_snapshots_ == TakesSnapshots::kWhileSeedsGrow && !has_growing_seeds()) return;
  if (progress_.safety.is_suspect()) return;
  if (is_beyond_limit(evaluation_)) return;
  const LedgerScope copying(evaluation_.ledger, Owner::kRollback);
  const base::Clock& clock = evaluation_.facts.clock;
  const auto begin = clock.now();
  try {
    snapshot_.emplace(evaluation_.model, evaluation_.facts.device);
  } catch (const std::exception& error) {
    if (device::out_of_memory_message(error).empty()) throw;
    return;
  }
  snapshot_progress_ = progress_;
  figures_.size_bytes = snapshot_->bytes();
  figures_.snapshot_ms = base::milliseconds(clock.now() - begin);
  ++figures_.snapshots;
}

const StateCopy* GoodState::snapshot_of_now() const {
  const auto cursor = [](const RunProgress& progress) {
    return std::tuple(progress.epoch, progress.batch, progress.step);
  };
  return snapshot_ && cursor(snapshot_progress_) == cursor(progress_) ? &*snapshot_ : nullptr;
}

std::string GoodState::loss_explosion(const Measurements& measured) const {
  const double loss = measured.running.loss;
  // Without an earlier measurement of this network, no finite loss counts as a rise.
  if (!snapshot_ || !snapshot_progress_.validation || !has_growing_seeds()) return {};
  const double before = snapshot_progress_.validation->loss;
  if (!(loss > kLossBound) || !(loss > kLossRatio * before)) return {};
  return fmt::format("the validation loss rose from {:.4g} to {:.4g}", before, loss);
}

bool GoodState::restore_snapshot() {
  if (!snapshot_) return false;
  const LedgerScope restoring(evaluation_.ledger, Owner::kRollback);
  TORCH_CHECK(!base::fault::hit("tolaria.rollback_fails"), "fault point tolaria.rollback_fails");
  snapshot_->restore();
  if (base::fault::hit("tolaria.rollback_slow")) std::this_thread::sleep_for(kRollbackDrillDelay);
  return true;
}

bool GoodState::rollback(const std::string& reason) {
  const base::Clock& clock = evaluation_.facts.clock;
  const auto begin = clock.now();
  if (!restore_snapshot()) {
    ++figures_.misses;
    return false;
  }
  report_return(reason, clock.now() - begin);
  return true;
}

void GoodState::end_with_snapshot(const std::string& reason) { report_return(reason, {}); }

void GoodState::report_return(const std::string& reason, base::Duration took) {
  ++figures_.hits;
  const std::int64_t failures = progress_.safety.failures_before(evaluation_.facts.epoch_end(progress_));
  report_rollback({reason, progress_.epoch + 1, progress_.step, failures, took, "memory"});
}

void GoodState::report_failure(const std::string& reason, const std::string& detail) {
  ++figures_.failures;
  outbox_.emit(
      event("tolaria.rollback.restore_failed"_event, Level::kCritical, {{"reason", reason}, {"detail", detail}}));
}

void GoodState::report_rollback(const Rollback& made) {
  const std::uint32_t to_epoch = made.tier == "memory" ? snapshot_progress_.epoch : progress_.epoch;
  figures_.latency_ms = base::milliseconds(made.took);
  outbox_.emit(event("tolaria.rollback.restored"_event, Level::kWarning,
                     {{"reason", made.reason},
                      {"epoch", std::to_string(made.epoch)},
                      {"step", std::to_string(made.step)},
                      {"to_epoch", std::to_string(to_epoch)},
                      {"latency_ms", std::to_string(figures_.latency_ms)},
                      {"tier", std::string(made.tier)}}));
  if (made.took <= evaluation_.facts.config.safety.rollback_deadline) return;
  ++figures_.late;
  emergency_.late_rollback(figures_.latency_ms, made.failures);
}

bool GoodState::measure_again(const std::string& reason, StepMetrics& metrics, Measurements& measured) {
  {
    const LedgerScope restoring(evaluation_.ledger, Owner::kRollback);
    read_metrics(evaluation_.model.state);  // a copy from within an epoch holds its partial sums
  }
  metrics = undone_metrics(metrics, progress_);
  measured = {};
  measured.undone = reason + " while it grew";
  measured.undone_seeds = suspects(evaluation_, progress_);
  measured.running = validate_without(measured.undone_seeds, evaluation_);
  if (!measured.running.complete) return false;
  if (std::isfinite(measured.running.loss) && loss_explosion(measured).empty()) return true;
  measured.undone_seeds = kasmina::growing_seeds(evaluation_.model.network.state());
  measured.running = validate_without(measured.undone_seeds, evaluation_);
  return measured.running.complete;
}

}  // namespace esper::tolaria
