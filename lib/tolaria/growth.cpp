#include "tolaria/growth.h"

#include "leyline/telemetry.h"
#include "tolaria/lifecycle_events.h"

namespace esper::tolaria {
namespace {

using leyline::event;
using leyline::Level;
using namespace leyline::literals;

// Optimizer moments follow the structure.
StructureChange follow_structure_since(std::uint64_t version_before, Run& run) {
  if (run.model.network.structure_version() == version_before) return {};
  return follow_structure(run.model);
}

void take_in(Run& run, const kasmina::EpochFacts& facts) {
  const auto version = run.model.network.structure_version();
  const auto happened = run.model.network.end_epoch(facts);
  tell_lifecycle(run, happened, follow_structure_since(version, run));
}

void apply(Run& run, const leyline::Decision& decision) {
  for (const auto& command : decision.commands) {
    const auto version = run.model.network.structure_version();
    const auto happened =
        run.model.network.apply(command, run.probe, static_cast<std::uint64_t>(run.clock.wall().count()));
    tell_lifecycle(run, happened, follow_structure_since(version, run));
  }
}

void tell_silence(Run& run, const Answer& answer) {
  ++run.progress.conservative_epochs;
  if (answer.kind == Answer::Kind::kFailed) {
    run.events.push_back(event("tolaria.tamiyo_error"_event, Level::kWarning, {{"error", answer.problem}}));
  } else {
    run.events.push_back(event("tolaria.tamiyo_timeout"_event, Level::kWarning, {{"error", answer.problem}}));
  }
}

}  // namespace

GrowthReport grow(Run& run, const StepMetrics& metrics, const Measurements& measured, const EpochTimes& times) {
  take_in(run, facts_of(run, metrics, measured));
  ++run.progress.epoch;
  run.progress.batch = 0;
  const Answer answer = run.consultation.ask(observe(run, metrics, times));
  if (answer.kind == Answer::Kind::kDecided) {
    tell_decision(run, answer.decision);
    apply(run, answer.decision);
  } else {
    tell_silence(run, answer);
  }
  follow_training_gates(run.model);
  return {answer.latency_ms};
}

}  // namespace esper::tolaria
