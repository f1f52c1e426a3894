#include "tolaria/growth/network_changes.h"

#include <algorithm>
#include <map>
#include <optional>
#include <string>
#include <utility>

#include "base/text/rounding.h"
#include "kasmina/command/command_form.h"
#include "kasmina/command/execute.h"
#include "leyline/telemetry/telemetry.h"
#include "tolaria/growth/apply_command.h"

namespace esper::tolaria {

using base::milliseconds;
using leyline::event;
using leyline::Level;
using namespace leyline::literals;

namespace {

using kasmina::LifecycleEvent;

// What the graft made, if there was one.
const LifecycleEvent* find_graft(const std::vector<LifecycleEvent>& happened) {
  const auto found = std::ranges::find(happened, LifecycleEvent::Kind::kGraft, &LifecycleEvent::kind);
  return found == happened.end() ? nullptr : &*found;
}

bool germinates(const leyline::AdaptationCommand& command) {
  return command.seed_operation && command.seed_operation->operation == leyline::SeedOperation::kGerminate;
}

// The slots that the decision named in a germination so far; false where all of them were rejected.
using Germinated = std::map<std::string, bool>;

// It starts the seed that the same decision germinates in a slot. All germinations there were rejected, and their
// warnings say so.
bool lacks_its_seed(const leyline::AdaptationCommand& command, const Germinated& germinated) {
  const bool starts_by_slot = command.target_seed_id.empty() && command.seed_operation &&
                              command.seed_operation->operation == leyline::SeedOperation::kStartTraining;
  if (!starts_by_slot) return false;
  const auto slot = germinated.find(command.seed_operation->slot);
  return slot != germinated.end() && !slot->second;
}

bool wants_control(const Evaluation& evaluation, const leyline::AdaptationCommand& command, std::uint64_t now_ns) {
  return evaluation.facts.config.growth.gates.evidence == config::Evidence::kControl &&
         kasmina::may_germinate(evaluation.model.network.state(), command, now_ns);
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

NetworkChanges::NetworkChanges(const Evaluation& evaluation, tamiyo::RunPolicy& policy, LifecycleLog& log,
                               const Saver& saver, torch::Tensor probe)
    : evaluation_(evaluation), policy_(policy), log_(log), saver_(saver), probe_(std::move(probe)) {}

std::vector<leyline::SeedState> NetworkChanges::end_epoch(const kasmina::EpochFacts& facts) {
  step::Model& model = evaluation_.model;
  const auto version = model.network.structure_version();
  auto ended = model.network.end_epoch(facts);
  step::StructureChange change;
  if (model.network.structure_version() != version) {
    ++optimizer_rebuilds_;
    change = step::follow_structure(model);
  }
  log_.report(ended.events, change);
  return std::move(ended.measured);
}

TrainedControl NetworkChanges::train_control(RunProgress& progress) {
  step::follow_training_gates(evaluation_.model);  // of the commands before this one
  auto control = tolaria::train_control(evaluation_, progress);
  progress.control.steps += control.steps;
  progress.control.took_ms += control.took_ms;
  return control;
}

void NetworkChanges::keep(RunProgress& progress, const std::vector<LifecycleEvent>& happened, TrainedControl control) {
  const auto* graft = find_graft(happened);
  if (graft == nullptr) return;
  log_.report(control_event(*graft, progress, control));
  progress.control.seeds[graft->seed_id] = std::move(control.control);
}

EpochEnd NetworkChanges::apply(RunProgress& progress, const leyline::Decision& decision) {
  const base::Clock& clock = evaluation_.facts.clock;
  Germinated germinated;
  for (const auto& command : decision.commands) {
    if (lacks_its_seed(command, germinated)) {
      policy_.report_rejection(command.command_id);
      continue;
    }
    const Cause cause{format_cause(command, decision), {}};
    const auto now_ns = static_cast<std::uint64_t>(clock.wall().count());
    std::optional<TrainedControl> control;
    if (wants_control(evaluation_, command, now_ns)) {
      control = train_control(progress);
      if (control->end == TrainedControl::End::kInterrupted) return EpochEnd::kInterrupted;
      if (control->end == TrainedControl::End::kRejected) {
        reject(command, control->rejection, cause);
        germinated.try_emplace(command.seed_operation->slot, false);
        continue;
      }
    }
    const auto begin = clock.now();
    const auto done = apply_command(evaluation_.model, command, probe_, now_ns, saver_.disk_room());
    if (done.structure_changed) ++optimizer_rebuilds_;
    log_.report(done.events, done.change, {cause.decision, milliseconds(clock.now() - begin)});
    const bool is_rejected = report_rejection(command, done.events);
    if (germinates(command)) germinated[command.seed_operation->slot] |= !is_rejected;
    if (control) keep(progress, done.events, *std::move(control));
  }
  return EpochEnd::kComplete;
}

void NetworkChanges::reject(const leyline::AdaptationCommand& command, const NoControl& rejection, const Cause& cause) {
  const auto& [code, reason] = rejection;
  log_.report({kasmina::refusal_of(command, code, reason)}, {}, cause);
  policy_.report_rejection(command.command_id);
}

// The policy's service is not to observe what did not happen.
bool NetworkChanges::report_rejection(const leyline::AdaptationCommand& command,
                                      const std::vector<LifecycleEvent>& happened) {
  const bool rejected = std::ranges::any_of(
      happened, [](const auto& event) { return event.kind == LifecycleEvent::Kind::kCommandRejected; });
  if (rejected) policy_.report_rejection(command.command_id);
  return rejected;
}

}  // namespace esper::tolaria
