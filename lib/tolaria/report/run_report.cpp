#include "tolaria/report/run_report.h"

#include <fmt/core.h>

#include <algorithm>
#include <span>

#include "base/hash.h"
#include "base/names.h"
#include "base/text/joined.h"
#include "config/writing/write.h"
#include "device/precision.h"
#include "kasmina/slot/topology.h"
#include "lanes/lane/failure_text.h"
#include "leyline/telemetry/telemetry.h"
#include "tolaria/checkpoint/growth_check.h"
#include "tolaria/growth/policy_schedule.h"
#include "tolaria/report/ledger_metrics.h"

namespace esper::tolaria {
namespace {

using leyline::event;
using leyline::Level;
using leyline::TelemetryEvent;
using namespace leyline::literals;

std::string seconds_text(double seconds) { return fmt::format("{:.1f}", seconds); }

TelemetryEvent resumed_event(const Run& run, const RunStart& start) {
  return event("tolaria.resumed"_event, Level::kInfo,
               {{"run_dir", start.run_dir},
                {"epoch", std::to_string(run.progress.epoch)},
                {"step", std::to_string(run.progress.step)},
                {"checkpoint", start.checkpoint},
                {"device", run.facts.device.str()}});
}

TelemetryEvent started_event(const Run& run, const RunStart& start) {
  const auto& config = run.facts.config;
  return event("tolaria.run_started"_event, Level::kInfo,
               {{"run_dir", start.run_dir},
                {"name", config.name},
                {"epochs", std::to_string(config.epochs)},
                {"device", run.facts.device.str()},
                {"precision", std::string(base::name_of(device::precision_of(run.model.settings.compute_type)))},
                {"config_hash", base::hash_text(config::config_hash(config))},
                {"version", start.version}});
}

void report_forecast(const Run& run, const RunStart& start) {
  for (const auto& [resource, needed, available, reason] : start.shortages) {
    run.outbox.emit(event("tolaria.shortage_forecast"_event, Level::kWarning,
                          {{"resource", resource}, {"needed", needed}, {"available", available}, {"reason", reason}}));
  }
}

void report_source(const Run& run) {
  if (run.facts.reason_of_source.empty()) return;
  const bool resident = run.data.train.source() == data::Source::kResident;
  run.outbox.emit(event("tolaria.batch_source_chosen"_event, Level::kInfo,
                        {{"source", resident ? "device" : "copies"}, {"reason", run.facts.reason_of_source}}));
}

// A run that goes on elsewhere goes on with the same state, and from there on with other roundings.
void report_other_numerics(const Run& run, const RunStart& start) {
  if (start.computed_on.empty() || start.computed_on == run.facts.computed_on) return;
  run.outbox.emit(event("tolaria.numerics_changed"_event, Level::kWarning,
                        {{"before", start.computed_on}, {"now", run.facts.computed_on}}));
}

// The decisions to come are this process's, by this run file.
void record_decision_process(const Run& run) {
  const auto& config = run.facts.config;
  if (!asks_policy(config)) return;
  leyline::DecisionProcess process;
  process.run_id = run.facts.run_id;
  process.epoch = run.progress.epoch;
  process.step = static_cast<std::uint64_t>(run.progress.step);
  process.policy = base::name_of(config.policy.kind);
  process.config = config::resolved_yaml(config);
  run.saver.record(std::move(process));
}

void report_unread_shadows(const Run& run) {
  for (const auto& [kind, reason] : run.policy.unread_shadows()) {
    run.outbox.emit(event("tamiyo.shadow_not_restored"_event, Level::kWarning, {{"policy", kind}, {"reason", reason}}));
  }
}

// Says which outputs nothing teaches; the first of them by name.
void report_missing_classes(const Run& run) {
  constexpr std::size_t kMostNamed = 20;
  const auto& classes = run.facts.classes_without_samples;
  if (classes.empty()) return;
  std::string named = base::joined(std::span(classes).first(std::min(kMostNamed, classes.size())));
  if (classes.size() > kMostNamed) named += ", ...";
  run.outbox.emit(event("tolaria.classes_without_samples"_event, Level::kWarning,
                        {{"count", std::to_string(classes.size())}, {"classes", std::move(named)}}));
}

}  // namespace

void report_start(const Run& run, const RunStart& start) {
  const bool resumed = start.kind == RunStart::Kind::kResumed;
  for (const auto& refused : start.refused) {
    run.outbox.emit(event("tolaria.checkpoint_refused"_event, Level::kWarning,
                          {{"path", refused.path}, {"reason", refused.reason}}));
  }
  run.outbox.emit(resumed ? resumed_event(run, start) : started_event(run, start));
  if (run.facts.skipped_samples > 0) {
    run.outbox.emit(event("tolaria.samples_skipped"_event, Level::kWarning,
                          {{"count", std::to_string(run.facts.skipped_samples)}, {"first", run.facts.first_skipped}}));
  }
  report_missing_classes(run);
  report_source(run);
  report_forecast(run, start);
  report_other_numerics(run, start);
  report_unread_shadows(run);
  run.saver.record(start_record(resumed ? "resumed" : "started",
                                {run.progress.step, run.progress.epoch, run.facts.training_hash},
                                kasmina::topology_of(run.model.network.save_topology())));
  record_decision_process(run);
  run.outbox.flush();
}

void report_outcome(const Run& run, const RunOutcome& outcome) {
  run.outbox.emit(event("tolaria.run_finished"_event, Level::kInfo,
                        {{"status", std::string(status_of(outcome.kind))},
                         {"exit_code", std::to_string(static_cast<int>(exit_code_of(outcome)))},
                         {"epochs", std::to_string(run.progress.epoch)},
                         {"steps", std::to_string(run.progress.step)},
                         {"wall_s", seconds_text(run.facts.wall_s(run.progress))},
                         {"reason", outcome.reason}}));
  report_end(run.outbox, run.ledger);
}

void report_failure(Outbox& outbox, base::Ledger& ledger, const RunProgress& progress, const RunFailure& failure) {
  outbox.emit(event("tolaria.run_finished"_event, Level::kError,
                    {{"status", failure.state == LastState::kSaved ? "failed after saving" : "failed"},
                     {"exit_code", std::to_string(static_cast<int>(failure.code))},
                     {"epochs", std::to_string(progress.epoch)},
                     {"steps", std::to_string(progress.step)},
                     {"wall_s", seconds_text(failure.wall_s)},
                     {"reason", lanes::describe(failure.error)}}));
  report_end(outbox, ledger);
}

void report_end(Outbox& outbox, base::Ledger& ledger) {
  const base::LedgerScope reporting(ledger, base::Owner::kTelemetry);
  auto packet = outbox.new_event_packet();
  add_ledger(packet.metrics, ledger);
  outbox.send(std::move(packet));
}

}  // namespace esper::tolaria
