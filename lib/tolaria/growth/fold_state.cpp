#include "tolaria/growth/fold_state.h"

#include "kasmina/command/stage_move.h"
#include "kasmina/fold/network_fold.h"
#include "kasmina/network/network_widening.h"
#include "kasmina/seed/widening.h"
#include "step/ema.h"

namespace esper::tolaria {

using step::EmaScope;
using step::FlatTensors;
using step::GroupState;
using step::Model;
using step::StepState;
using step::StructureChange;
using step::view_of;

namespace {

using kasmina::NamedTensor;

// The view of a parameter in one of its group's flat tensors; undefined if there is none.
torch::Tensor find_view(const StepState& state, FlatTensors GroupState::* tensors, const std::string& id) {
  const auto place = step::find_parameter(state, id);
  return place.group == nullptr ? torch::Tensor() : view_of(place.group->*tensors, place.index);
}

void fold_moments(const Model& model, const kasmina::FoldPlan& plan, FoldedState& out) {
  const std::string weight = plan.layer + ".weight", bias = plan.layer + ".bias";
  const auto first = find_view(model.state, &GroupState::first_moments, weight);
  if (!first.defined()) return;
  const kasmina::LayerMoments kept{first, find_view(model.state, &GroupState::first_moments, bias),
                                   find_view(model.state, &GroupState::second_moments, weight)};
  const auto fitting = kasmina::folded_moments(kept, plan.map);
  const auto moments = fitting ? *fitting : kasmina::fresh_moments(kept, plan.map);
  out.moments_fit = fitting.has_value();
  out.first_moments = {{weight, moments.weight}};
  if (moments.weight_square.defined()) out.second_moments = {{weight, moments.weight_square}};
}

void part_moments(const Model& model, const kasmina::SharedColumns& shared, FoldedState& out) {
  out.parts = true;
  const auto sum = [&](FlatTensors GroupState::* tensors, std::vector<NamedTensor>& to) {
    const auto host = find_view(model.state, tensors, shared.host), own = find_view(model.state, tensors, shared.seed);
    if (own.defined() && host.defined()) to.push_back({shared.seed, own + kasmina::leading_part(host, own)});
  };
  sum(&GroupState::first_moments, out.first_moments);
  sum(&GroupState::second_moments, out.second_moments);
  const auto average = find_view(model.state, &GroupState::averages, shared.host);
  if (!average.defined()) return;
  const auto own = find_view(model.state, &GroupState::averages, shared.seed);
  out.averages = {{shared.host, kasmina::parted_weight(average, own)}};
}

void write(StepState& state, FlatTensors GroupState::* tensors, const std::vector<NamedTensor>& values) {
  const at::NoGradGuard no_grad;
  for (const auto& [id, value] : values) {
    auto kept = find_view(state, tensors, id);  // of a frozen parameter nothing is kept
    if (kept.defined()) kept.copy_(value);
  }
}

}  // namespace

FoldedState folded_state(Model& model, const leyline::AdaptationCommand& command) {
  FoldedState out;
  if (!command.seed_operation) return out;
  // Without gates, and a fossil that is kept is not folded.
  const bool keeps = command.seed_operation->operation == leyline::SeedOperation::kKeep;
  const bool fossilises = command.seed_operation->operation == leyline::SeedOperation::kFossilize &&
                          kasmina::may_fossilize(model.network.state(), command.target_seed_id);
  if (!keeps && !fossilises) return out;
  const at::NoGradGuard no_grad;
  if (const auto shared = kasmina::shared_columns(model.network.state(), command.target_seed_id)) {
    part_moments(model, *shared, out);
    return out;
  }
  if (keeps) return out;
  if (const auto plan = kasmina::fold_plan(model.network.state(), command.target_seed_id))
    fold_moments(model, *plan, out);
  if (model.settings.ema_decay > 0) {
    const EmaScope averaged(model.state);
    out.averages = kasmina::folded_layer(model.network.state(), command.target_seed_id);
  }
  return out;
}

void write_folded(StepState& state, const FoldedState& folded, StructureChange& change) {
  write(state, &GroupState::averages, folded.averages);
  write(state, &GroupState::first_moments, folded.first_moments);
  write(state, &GroupState::second_moments, folded.second_moments);
  for (const auto& [id, value] : folded.first_moments)
    (folded.moments_fit ? change.transformed : change.reset).push_back(id);
}

}  // namespace esper::tolaria
