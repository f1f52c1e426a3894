#include "tolaria/growth/good_state.h"

#include <torch/types.h>

#include <cstdio>
#include <deque>
#include <limits>
#include <string>
#include <vector>

#include "device/out_of_memory.h"
#include "kasmina/lifecycle.h"
#include "leyline/telemetry.h"
#include "step/ema.h"

namespace esper::tolaria {

using step::EmaScope;
using step::read_metrics;
using step::StepMetrics;

namespace {

using base::LedgerScope;
using base::Owner;
using leyline::event;
using leyline::Level;
using namespace leyline::literals;

std::vector<std::string> growing_seeds(const Run& run) {
  std::vector<std::string> ids;
  for (const auto& seed : run.model.network.export_seed_states()) {
    if (kasmina::is_growing(seed.stage)) ids.push_back(seed.seed_id);
  }
  return ids;
}

// What the network will be once its growing seeds are gone: at alpha 0 a sound seed adds exactly nothing. Where a
// signal ends the pass, the figures of the epoch before stand, or, where there are none, those of the samples so far.
ValidationResult validate_without_growing_seeds(Run& run) {
  const LedgerScope validating(run.ledger, Owner::kValidation);
  const EmaScope averaged(run.model.state);
  std::deque<kasmina::AlphaOverride> silent;
  for (const auto& id : growing_seeds(run)) silent.emplace_back(run.model.network, id, 0.0);
  ValidationResult result = validation_pass(run.model, run.validation_data, run.device);
  if (result.complete || !run.progress.validation) return result;
  result.loss = run.progress.validation->loss;
  result.accuracy = run.progress.validation->accuracy;
  return result;
}

}  // namespace

void GoodState::keep(Run& run) {
  copy_.reset();
  run.rollback.size_bytes = 0;
  if (growing_seeds(run).empty()) return;
  const LedgerScope copying(run.ledger, Owner::kRollback);
  try {
    copy_.emplace(run.model, run.device);
  } catch (const std::exception& error) {
    if (device::lack_of_memory(error).empty()) throw;
    return;
  }
  epoch_ = run.progress.epoch;
  // Where nothing is known of this network yet, no finite loss is a rise.
  validation_loss_ = run.progress.validation ? run.progress.validation->loss : std::numeric_limits<double>::infinity();
  run.rollback.size_bytes = copy_->bytes();
  ++run.rollback.snapshots;
}

std::string GoodState::explosion(const Measurements& measured) const {
  const double loss = measured.running.loss;
  if (!copy_ || !(loss > kLossBound) || !(loss > kLossRatio * validation_loss_)) return {};
  char text[96];
  std::snprintf(text, sizeof text, "the validation loss rose from %.4g to %.4g", validation_loss_, loss);
  return text;
}

bool GoodState::put_back(Run& run, const std::string& reason, StepMetrics& metrics, Measurements& measured) {
  if (!copy_) {
    if (growing_seeds(run).empty()) return false;
    ++run.rollback.misses;
    run.events.push_back(event("tolaria.rollback.restore_failed"_event, Level::kCritical,
                               {{"reason", reason}, {"detail", "no earlier state is kept in memory"}}));
    return false;
  }
  const auto begin = run.clock.now();
  {
    const LedgerScope restoring(run.ledger, Owner::kRollback);
    copy_->restore();
    read_metrics(run.model.state);  // a copy from the middle of an epoch holds its first half's sums
  }
  const std::chrono::duration<double, std::milli> took = run.clock.now() - begin;
  ++run.rollback.hits;
  run.rollback.latency_ms = took.count();
  run.events.push_back(event("tolaria.rollback.restored"_event, Level::kWarning,
                             {{"reason", reason},
                              {"epoch", std::to_string(run.progress.epoch + 1)},
                              {"step", std::to_string(run.progress.step)},
                              {"to_epoch", std::to_string(epoch_)},
                              {"latency_ms", std::to_string(took.count())}}));
  StepMetrics undone;
  undone.loss = run.progress.train.loss;
  undone.accuracy = run.progress.train.accuracy;
  undone.samples = metrics.samples;
  undone.steps = metrics.steps;
  undone.nonfinite_steps = metrics.nonfinite_steps;
  undone.gradient_norm = run.progress.gradient_norm.mean;
  metrics = undone;
  measured = {};
  measured.running = validate_without_growing_seeds(run);
  measured.undone = reason + " while it grew";
  return true;
}

}  // namespace esper::tolaria
