#include "tolaria/report/epoch_reporter.h"

#include <fmt/core.h>

#include <algorithm>
#include <iterator>
#include <utility>

#include "base/ledger/span_log.h"
#include "kasmina/network/network_seeds.h"
#include "kasmina/seed/lifecycle.h"
#include "tolaria/report/ledger_metrics.h"
#include "tolaria/report/low_scale_warning.h"
#include "tolaria/report/scaler_warning.h"
#include "tolaria/report/seed_metrics.h"
#include "tolaria/report/seed_report.h"

namespace esper::tolaria {
namespace {

using base::LedgerScope;
using base::Owner;
using leyline::SeedState;

// Reporting the ledger takes about a microsecond; epochs shorter than this share one report.
constexpr auto kShortestAccount = std::chrono::milliseconds(1);

// Null if it is not among them.
const SeedState* find_seed(std::span<const SeedState> seeds, const std::string& seed_id) {
  const auto found = std::ranges::find(seeds, seed_id, &SeedState::seed_id);
  return found == seeds.end() ? nullptr : &*found;
}

// For the trace, if one is kept.
void mark_losses(base::Ledger& ledger, double training, double validation) {
  base::SpanLog* const log = ledger.watch().spans();
  if (log == nullptr) return;
  const auto now = ledger.now();
  log->marks.add({now, "training loss", {}, training});
  log->marks.add({now, "validation loss", {}, validation});
}

}  // namespace

void EpochReporter::warn_of_skips(std::optional<leyline::TelemetryEvent> warning) {
  if (!warning || std::exchange(has_warned_of_skips_, true)) return;
  outbox_.emit(*std::move(warning));
}

void EpochReporter::warn_of_low_scales(std::uint32_t epoch, const step::StepMetrics& steps) {
  for (auto& warning : low_scale_warnings(model_.settings, epoch, steps)) {
    const auto seed_id = warning.attributes.find("seed_id");
    const bool is_new = low_scales_.insert(seed_id == warning.attributes.end() ? "" : seed_id->second).second;
    if (is_new) outbox_.emit(std::move(warning));
  }
}

void EpochReporter::warn_at_signal(const step::StepMetrics& uncounted) {
  const LedgerScope reporting(ledger_, Owner::kTelemetry);
  warn_of_skips(scaler_warning_at_signal(model_.settings, progress_, uncounted));
  warn_of_low_scales(progress_.epoch + 1, uncounted);
}

void EpochReporter::send_seed(const std::string& seed_id, std::vector<leyline::MetricValue> metrics) {
  auto packet = outbox_.new_packet("kasmina", fmt::format("epoch-{}-{}", progress_.epoch, seed_id));
  packet.metrics = std::move(metrics);
  packet.system_health.indicators["seed_id"] = seed_id;
  packet.system_health.indicators["step_index"] = std::to_string(progress_.step);
  outbox_.send(std::move(packet));
}

// A fossil is not measured any more; one of this epoch's end has what it was admitted for. An epoch that was undone
// measured nothing.
void EpochReporter::report_seeds(const EpochResults& results, std::span<const SeedState> seeds,
                                 std::span<const SeedState> ended) {
  const bool is_measured = results.measured.undone.empty();
  for (const SeedState& seed : seeds) {
    auto metrics = seed_metrics(seed);
    const SeedState* measured = find_seed(ended, seed.seed_id);
    if (kasmina::is_growing(seed.stage) && is_measured) measured = &seed;
    if (measured != nullptr) std::ranges::move(measured_metrics(*measured), std::back_inserter(metrics));
    add_isolation(metrics, results.steps, seed);
    send_seed(seed.seed_id, std::move(metrics));
  }
  for (const SeedState& seed : ended) {
    if (find_seed(seeds, seed.seed_id) != nullptr) continue;
    auto metrics = measured_metrics(seed);
    add_isolation(metrics, results.steps, seed);
    send_seed(seed.seed_id, std::move(metrics));
  }
}

void EpochReporter::report(const EpochResults& results, const ComponentFigures& figures) {
  const LedgerScope reporting(ledger_, Owner::kTelemetry);
  const auto seeds = kasmina::export_seed_states(model_.network.state());
  rollback_ = figures.rollback;
  emergency_ = figures.emergency;
  auto packet = outbox_.new_packet("tolaria", fmt::format("epoch-{}", progress_.epoch));
  packet.metrics = epoch_metrics({facts_, progress_, model_, seeds}, results, figures);
  if (ledger_.unsettled() >= kShortestAccount) {
    add_ledger(packet.metrics, ledger_);
    add_step_times(packet.metrics, ledger_);
  }
  mark_losses(ledger_, results.steps.loss, results.measured.running.loss);
  warn_of_seeds(outbox_, facts_.config.growth.aggregation, progress_.gradient_shares, results.steps, seeds);
  warn_of_skips(scaler_warning(model_.settings, progress_, results));
  if (results.measured.undone.empty()) warn_of_low_scales(progress_.epoch, results.steps);
  outbox_.move_events_to(packet);
  outbox_.send(std::move(packet));
  report_seeds(results, seeds, figures.growth.ended);
}

void EpochReporter::report_safety(const RollbackFigures& rollback, const EmergencyFigures& emergency) {
  if (rollback == rollback_ && emergency == emergency_) return;
  const LedgerScope reporting(ledger_, Owner::kTelemetry);
  auto packet = outbox_.new_event_packet();
  packet.metrics = safety_metrics(rollback, emergency);
  outbox_.send(std::move(packet));
}

}  // namespace esper::tolaria
