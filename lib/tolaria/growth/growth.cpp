#include "tolaria/growth/growth.h"

#include <fmt/core.h>

#include <algorithm>
#include <optional>
#include <set>
#include <string>
#include <utility>

#include "base/names.h"
#include "base/text/rounding.h"
#include "kasmina/command/command_form.h"
#include "kasmina/command/execute.h"
#include "kasmina/network/network_seeds.h"
#include "kasmina/seed/lifecycle.h"
#include "leyline/seed_command.h"
#include "leyline/telemetry/telemetry.h"
#include "tamiyo/service/log_record.h"
#include "tolaria/growth/apply_command.h"
#include "tolaria/growth/worth.h"

namespace esper::tolaria {

using base::milliseconds;
using leyline::event;
using leyline::Level;
using tamiyo::Answer;
using namespace leyline::literals;

namespace {

using kasmina::LifecycleEvent;

// What the graft made, if there was one.
const LifecycleEvent* find_graft(const std::vector<LifecycleEvent>& happened) {
  const auto found = std::ranges::find(happened, LifecycleEvent::Kind::kGraft, &LifecycleEvent::kind);
  return found == happened.end() ? nullptr : &*found;
}

// Somebody is asked.
bool grows(const config::RunConfig& config) {
  return config.growth.enabled && config.policy.kind != config::PolicyKind::kNone;
}

bool germinates(const leyline::AdaptationCommand& command) {
  return command.seed_operation && command.seed_operation->operation == leyline::SeedOperation::kGerminate;
}

// It starts the seed that the same decision germinates in one of these slots. Its germination was rejected, and one
// warning says so.
bool starts_at(const leyline::AdaptationCommand& command, const std::set<std::string>& slots) {
  return command.target_seed_id.empty() && command.seed_operation &&
         command.seed_operation->operation == leyline::SeedOperation::kStartTraining &&
         slots.contains(command.seed_operation->slot);
}

leyline::TelemetryEvent control_event(const LifecycleEvent& graft, const RunProgress& progress,
                                      const TrainedControl& control) {
  return event("tolaria.control_measured"_event, Level::kInfo,
               {{"seed_id", graft.seed_id},
                {"slot", graft.slot},
                {"blueprint", graft.blueprint},
                {"epoch", std::to_string(progress.epoch)},
                {"epochs", std::to_string(control.control.epochs())},
                {"steps", std::to_string(control.steps)},
                {"ms", std::to_string(control.took_ms)},
                {"reason", control.shortened}});
}

}  // namespace

Growth::Growth(const Evaluation& evaluation, tamiyo::RunPolicy& policy, LifecycleLog& log, const Saver& saver,
               torch::Tensor probe, AtTheEnd at_the_end)
    : evaluation_(evaluation),
      facts_(evaluation.facts),
      model_(evaluation.model),
      policy_(policy),
      log_(log),
      saver_(saver),
      probe_(std::move(probe)),
      at_the_end_(at_the_end) {}

bool Growth::needs_samples(const RunProgress& progress) const {
  return grows(facts_.config) || !progress.control.seeds.empty();
}

bool Growth::may_settle() const { return at_the_end_ == AtTheEnd::kSettle && has_unfinished_seeds(model_.network); }

bool Growth::may_train_control(const RunProgress& progress) const {
  const auto& growth = facts_.config.growth;
  if (!grows(facts_.config) || growth.gates.evidence != config::Evidence::kControl) return false;
  RunProgress after = progress;
  ++after.epoch;
  if (!control_length(facts_, after)) return false;
  // One that rests may be free once the epoch is over.
  return std::ranges::any_of(kasmina::export_slots(model_.network.state()), [](const leyline::SlotState& slot) {
    return slot.stage != leyline::Stage::kTerminated && !kasmina::holds_seed(slot.stage);
  });
}

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

// Before the network applies the epoch: its seeds are still as they trained.
void Growth::compare(RunProgress& progress, const EpochResults& results, kasmina::EpochFacts& facts) {
  auto& controls = progress.control;
  if (!results.measured.undone.empty()) controls.seeds.clear();  // with controls one seed grows, and it is culled
  if (controls.seeds.empty()) return;
  for (const auto& [seed_id, worth] :
       compare_with_controls(controls, model_.network, results.measured.running.by_sample)) {
    const auto own = std::ranges::find(facts.seeds, seed_id, &kasmina::SeedFacts::seed_id);
    if (own != facts.seeds.end()) own->worth = worth;
    if (!worth.confounded) continue;
    log_.report(event("tolaria.control_confounded"_event, Level::kWarning,
                      {{"seed_id", seed_id},
                       {"epoch", std::to_string(facts.epoch)},
                       {"epochs", std::to_string(worth.epochs)},
                       {"reason",
                        "another seed came, went or changed since its control: its worth is measured no "
                        "further"}}));
  }
}

bool Growth::wants_control(const leyline::AdaptationCommand& command, std::uint64_t now_ns) {
  return facts_.config.growth.gates.evidence == config::Evidence::kControl &&
         kasmina::may_germinate(model_.network.state(), command, now_ns);
}

TrainedControl Growth::train_control(RunProgress& progress) {
  step::follow_training_gates(model_);  // of the commands before this one
  auto control = tolaria::train_control(evaluation_, progress);
  progress.control.steps += control.steps;
  progress.control.took_ms += control.took_ms;
  return control;
}

void Growth::keep(RunProgress& progress, const std::vector<LifecycleEvent>& happened, TrainedControl control) {
  const auto* graft = find_graft(happened);
  if (graft == nullptr) return;
  log_.report(control_event(*graft, progress, control));
  progress.control.seeds[graft->seed_id] = std::move(control.control);
}

EpochEnd Growth::apply(RunProgress& progress, const leyline::Decision& decision) {
  std::set<std::string> without_seed;  // slots that should have a seed now
  for (const auto& command : decision.commands) {
    if (starts_at(command, without_seed)) {
      policy_.report_rejection(command.command_id);
      continue;
    }
    const auto now_ns = static_cast<std::uint64_t>(facts_.clock.wall().count());
    std::optional<TrainedControl> control;
    if (wants_control(command, now_ns)) {
      control = train_control(progress);
      if (control->end == TrainedControl::End::kInterrupted) return EpochEnd::kInterrupted;
      if (control->end == TrainedControl::End::kRejected) {
        const auto& [code, reason] = control->rejection;
        const std::vector refusal = {kasmina::refusal_of(command, code, reason)};
        log_.report(refusal, {}, {format_cause(command, decision), {}});
        report_rejection(command, refusal);
        without_seed.insert(command.seed_operation->slot);
        continue;
      }
    }
    const auto begin = facts_.clock.now();
    const auto done = apply_command(model_, command, probe_, now_ns, saver_.disk_room());
    if (done.structure_changed) ++figures_.optimizer_rebuilds;
    log_.report(done.events, done.change, {format_cause(command, decision), milliseconds(facts_.clock.now() - begin)});
    const bool is_rejected = report_rejection(command, done.events);
    if (is_rejected && germinates(command)) without_seed.insert(command.seed_operation->slot);
    if (control) keep(progress, done.events, *std::move(control));
  }
  return EpochEnd::kComplete;
}

// The policy's service is not to observe what did not happen.
bool Growth::report_rejection(const leyline::AdaptationCommand& command, const std::vector<LifecycleEvent>& happened) {
  const bool rejected = std::ranges::any_of(
      happened, [](const auto& event) { return event.kind == LifecycleEvent::Kind::kCommandRejected; });
  if (rejected) policy_.report_rejection(command.command_id);
  return rejected;
}

// A seed may stay where it is measured to help and cannot be kept, for want of memory.
void Growth::remove_unsettled(RunProgress& progress) {
  leyline::Decision rest;
  for (const auto& seed : kasmina::export_seed_states(model_.network.state())) {
    if (!kasmina::is_growing(seed.stage)) continue;
    rest.commands.push_back(
        leyline::seed_command(fmt::format("{}-e{}-rest-{}", facts_.run_id, progress.epoch, rest.commands.size() + 1),
                              leyline::SeedOperation::kCull, seed.seed_id));
    rest.commands.back().issued_by = "tolaria";
    rest.commands.back().annotations["reason"] = "the run is over, and it could not be kept";
  }
  if (rest.commands.empty()) return;
  apply(progress, rest);
  settled_validation_.reset();
}

EpochEnd Growth::settle(RunProgress& progress, const SeedAlphas& ran) {
  auto settlement = settle_unfinished(evaluation_, progress, ran);
  if (!settlement.is_complete) return EpochEnd::kInterrupted;
  settled_validation_ = settlement.validation;
  apply(progress, {settlement.commands, {}});
  remove_unsettled(progress);
  for (auto& event : settlement.events) log_.report(std::move(event));
  return EpochEnd::kComplete;
}

void Growth::ask(const RunProgress& progress, const EpochResults& results) {
  auto observation = observe(facts_, progress, model_.network, results);
  const auto begin = facts_.clock.now();
  policy_.begin({std::move(observation), policy_figures(facts_.config, results, consult_times_)});
  figures_.times.waiting_ms += milliseconds(facts_.clock.now() - begin);
}

// What an earlier epoch left open comes first: the policy is to see what its commands did.
EpochEnd Growth::decide(RunProgress& progress, const EpochResults& results) {
  figures_.times = {};
  figures_.policy.clear();
  figures_.decide_ms.reset();
  figures_.without_decision = false;
  if (policy_.has_question()) {
    const auto then = results.is_last ? IfDecided::kDrop : IfDecided::kApply;
    if (finish_question(progress, then) == EpochEnd::kInterrupted) return EpochEnd::kInterrupted;
  }
  if (!is_question_due(facts_, progress, results)) return EpochEnd::kComplete;
  ask(progress, results);
  const bool overlaps = facts_.config.policy.overlap == config::PolicyOverlap::kOn && !results.is_last;
  return overlaps ? EpochEnd::kComplete : finish_question(progress, IfDecided::kApply);
}

EpochEnd Growth::finish_question(RunProgress& progress, IfDecided then) {
  const auto begin = facts_.clock.now();
  const auto [question, report] = policy_.finish(progress.epoch);
  figures_.times.waiting_ms += milliseconds(facts_.clock.now() - begin);
  const Answer& answer = report.evaluation.answer;
  if (grows(facts_.config)) {
    const std::string kind(base::name_of(facts_.config.policy.deciding()));
    log_.record(tamiyo::decision_record(kind, question.observation, question.figures, report));
  }
  for (const auto& event : report.evaluation.events) log_.report(event);
  figures_.policy = report.metrics;
  if (tamiyo::was_asked(answer.kind)) figures_.decide_ms = answer.latency_ms;
  figures_.without_decision = answer.kind != Answer::Kind::kDecided;
  if (answer.kind == Answer::Kind::kDecided) {
    if (then == IfDecided::kDrop) return drop(answer.decision), EpochEnd::kComplete;
    log_.report(answer.decision);
    return apply(progress, answer.decision);
  }
  ++progress.conservative_epochs;
  if (auto event = no_decision_event(answer, facts_.config.safety.policy_deadline)) log_.report(*std::move(event));
  return EpochEnd::kComplete;
}

// What would begin now would never train; what the last epoch showed is decided next.
void Growth::drop(const leyline::Decision& decision) {
  log_.report_missed(decision);
  if (decision.commands.empty()) return;
  for (const auto& command : decision.commands) policy_.report_rejection(command.command_id);
  log_.report(event(
      "pause_triggered"_event, Level::kInfo,
      {{"reason", "the run ends: its last epoch decides"}, {"commands", std::to_string(decision.commands.size())}}));
}

EpochEnd Growth::end_epoch(RunProgress& progress, const EpochResults& results) {
  auto facts = facts_of(model_.network, progress.epoch + 1, results);
  ++progress.epoch;
  progress.batch = 0;
  compare(progress, results, facts);
  const bool is_observed = grows(facts_.config);
  const auto& samples = results.measured.running.by_sample;
  progress.window = is_observed ? with_epoch(progress.window, samples, facts_.config.policy.heuristic.window_epochs)
                                : ValidationWindow();
  const auto ran = alphas_of(model_.network);
  take_in(facts);
  const auto begin = facts_.clock.now();
  const bool consults = policy_.has_question() || is_question_due(facts_, progress, results);
  if (decide(progress, results) == EpochEnd::kInterrupted) return EpochEnd::kInterrupted;
  settled_validation_.reset();
  const bool settles = results.is_last && at_the_end_ == AtTheEnd::kSettle && needs_settling(model_.network, ran);
  if (settles && settle(progress, ran) == EpochEnd::kInterrupted) return EpochEnd::kInterrupted;
  step::follow_training_gates(model_);
  log_.publish();
  figures_.times.hook_ms = milliseconds(facts_.clock.now() - begin);
  if (consults) consult_times_ = figures_.times;
  return EpochEnd::kComplete;
}

}  // namespace esper::tolaria
