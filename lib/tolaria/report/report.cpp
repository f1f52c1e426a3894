#include "tolaria/report/report.h"

#include <utility>

#include "base/ledger/span_log.h"
#include "base/names.h"
#include "leyline/telemetry.h"
#include "tolaria/report/epoch_metrics.h"
#include "tolaria/report/seed_report.h"

namespace esper::tolaria {

using step::StepMetrics;

namespace {

using base::LedgerScope;
using base::Owner;
using leyline::metric;
using leyline::MetricValue;
using leyline::SeedState;
using leyline::TelemetryPacket;
using namespace leyline::literals;

TelemetryPacket new_packet(Run& run, const char* subsystem, const std::string& what) {
  TelemetryPacket packet;
  packet.packet_id = run.run_id + "-" + what;
  packet.timestamp = base::rfc3339(run.clock.wall());
  packet.source_subsystem = subsystem;
  return packet;
}

// Telling the ledger takes about a microsecond; epochs shorter than this share one telling.
constexpr auto kShortestAccount = std::chrono::milliseconds(1);

// What every owner had of the time since the last packet that told it. Owners without any are left out.
void add_ledger(std::vector<MetricValue>& out, Run& run) {
  const base::OwnerTimes times = run.ledger.settle();
  for (const auto& [owner, name] : names(Owner{})) {
    const auto time = times[index_of(owner)];
    if (time.count() == 0) continue;
    out.push_back(metric("tolaria.ledger.ms"_metric, std::chrono::duration<double, std::milli>(time).count(),
                         {{"owner", std::string(name)}}));
  }
}

void add_step_times(std::vector<MetricValue>& out, Run& run) {
  const base::StepQuantiles steps = run.ledger.take_step_quantiles();
  if (steps.steps == 0) return;
  out.push_back(metric("tolaria.step.p50_us"_metric, steps.p50_us));
  out.push_back(metric("tolaria.step.p95_us"_metric, steps.p95_us));
}

// For the trace, if there is to be one.
void mark(Run& run, const std::vector<leyline::TelemetryEvent>& events) {
  if (!run.ledger.spans()) return;
  for (const auto& event : events) {
    run.ledger.spans()->marks.add({run.ledger.now(), std::string(event.description), event.attributes, {}});
  }
}
void mark_figures(Run& run, const StepMetrics& metrics, const Measurements& measured) {
  if (!run.ledger.spans()) return;
  const auto now = run.ledger.now();
  run.ledger.spans()->marks.add({now, "training loss", {}, metrics.loss});
  run.ledger.spans()->marks.add({now, "validation loss", {}, measured.running.loss});
}

std::vector<leyline::TelemetryEvent> take_events(Run& run) {
  mark(run, run.events);
  return std::exchange(run.events, {});
}

TelemetryPacket packet_of_events(Run& run) {
  auto packet = new_packet(run, "tolaria",
                           "step-" + std::to_string(run.progress.step) + "-event-" + std::to_string(++run.packets));
  packet.events = take_events(run);
  return packet;
}

void report_seed(Run& run, const StepMetrics& metrics, const SeedState& seed) {
  auto packet = new_packet(run, "kasmina", "epoch-" + std::to_string(run.progress.epoch) + "-" + seed.seed_id);
  packet.metrics = seed_metrics(seed);
  add_isolation(packet.metrics, metrics, seed);
  packet.system_health.indicators["seed_id"] = seed.seed_id;
  packet.system_health.indicators["step_index"] = std::to_string(run.progress.step);
  leyline::finish_packet(packet, run.progress.epoch);
  run.telemetry.emit(packet);
}

}  // namespace

void report_epoch(Run& run, const StepMetrics& metrics, const Measurements& measured, const EpochTimes& times,
                  const GrowthReport& growth) {
  const LedgerScope telling(run.ledger, Owner::kTelemetry);
  const auto seeds = run.model.network.export_seed_states();
  run.skipped_steps += metrics.nonfinite_steps;
  auto packet = new_packet(run, "tolaria", "epoch-" + std::to_string(run.progress.epoch));
  packet.metrics = epoch_metrics(run, {metrics, measured, times, growth, seeds});
  if (run.ledger.unsettled() >= kShortestAccount) {
    add_ledger(packet.metrics, run);
    add_step_times(packet.metrics, run);
  }
  mark_figures(run, metrics, measured);
  warn_of_seeds(run, metrics, seeds);
  packet.events = take_events(run);
  leyline::finish_packet(packet, run.progress.epoch);
  run.telemetry.emit(packet);
  for (const auto& seed : seeds) report_seed(run, metrics, seed);
}

void report_events(Run& run) {
  if (run.events.empty()) return;
  const LedgerScope telling(run.ledger, Owner::kTelemetry);
  auto packet = packet_of_events(run);
  leyline::finish_packet(packet, run.progress.epoch);
  run.telemetry.emit(packet);
}

void report_end(Run& run) {
  const LedgerScope telling(run.ledger, Owner::kTelemetry);
  auto packet = packet_of_events(run);
  add_ledger(packet.metrics, run);
  leyline::finish_packet(packet, run.progress.epoch);
  run.telemetry.emit(packet);
}

}  // namespace esper::tolaria
