#include "tolaria/growth/growth.h"

#include <utility>

#include "base/text/rounding.h"
#include "leyline/telemetry.h"
#include "tolaria/growth/apply_command.h"

namespace esper::tolaria {

using base::milliseconds;
using leyline::event;
using leyline::Level;
using namespace leyline::literals;

Growth::Growth(const RunFacts& facts, step::Model& model, Consultation& policy, LifecycleLog& log, Outbox& outbox,
               torch::Tensor probe)
    : facts_(facts), model_(model), policy_(policy), log_(log), outbox_(outbox), probe_(std::move(probe)) {}

// Updates the optimizer's moments to the structure.
void Growth::take_in(const kasmina::EpochFacts& facts) {
  const auto version = model_.network.structure_version();
  const auto happened = model_.network.end_epoch(facts);
  step::StructureChange change;
  if (model_.network.structure_version() != version) {
    ++figures_.optimizer_rebuilds;
    change = step::follow_structure(model_);
  }
  log_.report(happened, change);
}

void Growth::apply(const leyline::Decision& decision) {
  for (const auto& command : decision.commands) {
    const auto begin = facts_.clock.now();
    const auto now_ns = static_cast<std::uint64_t>(facts_.clock.wall().count());
    const auto done = apply_command(model_, command, probe_, now_ns);
    if (done.structure_changed) ++figures_.optimizer_rebuilds;
    log_.report(done.events, done.change, {format_cause(command, decision), milliseconds(facts_.clock.now() - begin)});
  }
}

void Growth::report_no_decision(const Answer& answer) {
  if (answer.kind == Answer::Kind::kFailed) {
    outbox_.emit(event("tolaria.tamiyo_error"_event, Level::kWarning, {{"error", answer.problem}}));
    return;
  }
  const auto deadline = facts_.config.safety.policy_deadline;
  outbox_.emit(event("tolaria.tamiyo_timeout"_event, Level::kWarning,
                     {{"error", answer.problem},
                      {"latency_ms", std::to_string(answer.latency_ms)},
                      {"deadline_ms", std::to_string(milliseconds(deadline))}}));
}

void Growth::end_epoch(RunProgress& progress, const EpochResults& results) {
  const auto facts = facts_of(model_.network, progress.epoch + 1, results);
  ++progress.epoch;
  progress.batch = 0;
  take_in(facts);
  const auto begin = facts_.clock.now();
  const Answer answer = policy_.ask(observe(facts_, progress, model_.network, results));
  if (answer.kind == Answer::Kind::kDecided) {
    log_.report(answer.decision);
    apply(answer.decision);
  } else {
    ++progress.conservative_epochs;
    report_no_decision(answer);
  }
  step::follow_training_gates(model_);
  figures_.decide_ms = answer.latency_ms;
  figures_.hook_ms = milliseconds(facts_.clock.now() - begin);
}

}  // namespace esper::tolaria
