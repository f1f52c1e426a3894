#include "tolaria/growth/growth.h"

#include "base/text/rounding.h"
#include "leyline/telemetry.h"
#include "tolaria/growth/apply_command.h"
#include "tolaria/growth/lifecycle_events.h"

namespace esper::tolaria {

using base::milliseconds;
using step::follow_structure;
using step::follow_training_gates;
using step::StepMetrics;
using step::StructureChange;

namespace {

using leyline::event;
using leyline::Level;
using namespace leyline::literals;

// Optimizer moments follow the structure.
StructureChange follow_structure_since(std::uint64_t version_before, Run& run) {
  if (run.model.network.structure_version() == version_before) return {};
  ++run.optimizer_rebuilds;
  return follow_structure(run.model);
}

void take_in(Run& run, const kasmina::EpochFacts& facts) {
  const auto version = run.model.network.structure_version();
  const auto happened = run.model.network.end_epoch(facts);
  tell_lifecycle(run, happened, follow_structure_since(version, run));
}

void apply(Run& run, const leyline::Decision& decision) {
  for (const auto& command : decision.commands) {
    const auto begin = run.clock.now();
    const auto done =
        apply_command(run.model, command, run.probe, static_cast<std::uint64_t>(run.clock.wall().count()));
    if (done.structure_changed) ++run.optimizer_rebuilds;
    tell_lifecycle(run, done.events, done.change,
                   {cause_in_words(command, decision), milliseconds(run.clock.now() - begin)});
  }
}

void tell_silence(Run& run, const Answer& answer) {
  ++run.progress.conservative_epochs;
  if (answer.kind == Answer::Kind::kFailed) {
    run.events.push_back(event("tolaria.tamiyo_error"_event, Level::kWarning, {{"error", answer.problem}}));
  } else {
    ++run.policy_timeouts;
    if (answer.kind == Answer::Kind::kLate) run.policy_timeout_ms = answer.latency_ms;
    run.events.push_back(event("tolaria.tamiyo_timeout"_event, Level::kWarning,
                               {{"error", answer.problem},
                                {"latency_ms", std::to_string(answer.latency_ms)},
                                {"deadline_ms", std::to_string(milliseconds(run.config.safety.policy_deadline))}}));
  }
}

}  // namespace

GrowthReport grow(Run& run, const StepMetrics& metrics, const Measurements& measured, const EpochTimes& times) {
  const base::LedgerScope deciding(run.ledger, base::Owner::kPolicy);
  const auto facts = facts_of(run, metrics, measured);
  ++run.progress.epoch;
  run.progress.batch = 0;
  take_in(run, facts);
  const auto begin = run.clock.now();
  const Answer answer = run.consultation.ask(observe(run, metrics, times));
  run.conservative = answer.kind != Answer::Kind::kDecided;
  if (!run.conservative) {
    tell_decision(run, answer.decision);
    apply(run, answer.decision);
  } else {
    tell_silence(run, answer);
  }
  follow_training_gates(run.model);
  return {answer.latency_ms, milliseconds(run.clock.now() - begin)};
}

}  // namespace esper::tolaria
