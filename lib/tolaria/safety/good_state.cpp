#include "tolaria/safety/good_state.h"

#include <torch/types.h>

#include <chrono>
#include <string>
#include <thread>
#include <tuple>

#include "base/fault.h"
#include "base/text/rounding.h"
#include "device/out_of_memory.h"
#include "kasmina/network/network_seeds.h"
#include "leyline/telemetry/telemetry.h"

namespace esper::tolaria {

namespace {

using base::LedgerScope;
using base::Owner;
using leyline::event;
using leyline::Level;
using namespace leyline::literals;

constexpr auto kRollbackDrillDelay = std::chrono::milliseconds(200);

bool is_beyond_limit(const Evaluation& evaluation) {
  const std::int64_t limit_mb = evaluation.facts.config.safety.snapshot_limit_mb;
  if (limit_mb == 0) return false;
  const auto bytes = kasmina::bytes_of(step::all_tensors(evaluation.model, evaluation.facts.device));
  return bytes > static_cast<std::uint64_t>(limit_mb) << 20U;
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

}  // namespace esper::tolaria
