#include "step/step_state.h"

#include <algorithm>
#include <functional>
#include <iterator>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "base/error.h"
#include "step/aggregation_state.h"
#include "step/copied_moments.h"
#include "step/optimizer.h"

namespace esper::step {
namespace {

using kasmina::NamedTensor;

// What is kept for one parameter while groups are rearranged; undefined where there is nothing.
struct ParameterState {
  torch::Tensor first_moment, second_moment, average;
};

using KeptParameters = std::unordered_map<std::string, ParameterState>;

KeptParameters take_apart(const std::vector<GroupState>& groups) {
  KeptParameters kept;
  for (const GroupState& group : groups) {
    for (std::size_t i = 0; i < group.parameter_ids.size(); ++i) {
      kept[group.parameter_ids[i]] = {view_of(group.first_moments, i), view_of(group.second_moments, i),
                                      view_of(group.averages, i)};
    }
  }
  return kept;
}

void copy_if_kept(const torch::Tensor& kept, FlatTensors& tensors, std::size_t i, const std::string& id) {
  if (!kept.defined() || !tensors.defined()) return;
  ESPER_CHECK(kept.sizes() == tensors.views[i].sizes(),
              "parameter '" + id + "' has another shape than before: ids are never reused");
  tensors.views[i].copy_(kept);
}

const GroupState* find_group(const std::vector<GroupState>& groups, const std::string& id) {
  const auto found =
      std::find_if(groups.begin(), groups.end(), [&](const GroupState& group) { return group.id == id; });
  return found == groups.end() ? nullptr : &*found;
}

bool has_same_parameters(const GroupState& old, const kasmina::ParameterGroup& group) {
  return std::equal(group.parameters.begin(), group.parameters.end(), old.parameter_ids.begin(),
                    old.parameter_ids.end(),
                    [](const NamedTensor& named, const std::string& id) { return named.id == id; }) &&
         std::equal(group.parameters.begin(), group.parameters.end(), old.parameters.views.begin(),
                    [](const NamedTensor& named, const torch::Tensor& old_parameter) {
                      return named.tensor.sizes() == old_parameter.sizes();
                    });
}

// The group's flat tensors, with the values of everything that is known and start values else.
GroupState new_group(const StepState& state, const StepSettings& settings, const kasmina::ParameterGroup& group,
                     const KeptParameters& kept) {
  GroupState built;
  built.id = group.id;
  built.owner = group.owner;
  std::vector<torch::Tensor> parameters;
  for (const NamedTensor& named : group.parameters) {
    built.parameter_ids.push_back(named.id);
    parameters.push_back(named.tensor);
  }
  built.factors = element_factors(settings.rules, settings.optimizer, built.parameter_ids, parameters);
  if (keeps_first_moments(settings.optimizer)) built.first_moments = flat_zeros(parameters, state.device);
  if (keeps_second_moments(settings.optimizer)) built.second_moments = flat_zeros(parameters, state.device);
  if (settings.ema_decay > 0) built.averages = flat_zeros(parameters, state.device);
  built.parameters = move_together(parameters, state.device);
  if (built.averages.defined()) built.averages.flat.copy_(built.parameters.flat);
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    const auto known = kept.find(built.parameter_ids[i]);
    if (known == kept.end()) continue;
    copy_if_kept(known->second.first_moment, built.first_moments, i, known->first);
    copy_if_kept(known->second.second_moment, built.second_moments, i, known->first);
    copy_if_kept(known->second.average, built.averages, i, known->first);
  }
  return built;
}

// The group as it was if its parameters are the same; else a new one.
GroupState carry_group(const StepState& state, const StepSettings& settings, const kasmina::ParameterGroup& group,
                       const KeptParameters& kept) {
  const GroupState* old = find_group(state.groups, group.id);
  if (old == nullptr || !has_same_parameters(*old, group)) return new_group(state, settings, group, kept);
  GroupState same = *old;
  same.owner = group.owner;
  std::vector<torch::Tensor> parameters;
  for (const NamedTensor& named : group.parameters) parameters.push_back(named.tensor);
  move_into(same.parameters, parameters);
  return same;
}

// Scalars for the groups that were built, with the values of those that were there before.
void carry_scalars(StepState& state, const StepSettings& settings, std::vector<GroupState>& built) {
  const auto same_id = [](const GroupState& a, const GroupState& b) { return a.id == b.id; };
  const bool same = std::equal(state.groups.begin(), state.groups.end(), built.begin(), built.end(), same_id);
  if (!same || !state.scalars.scratch.defined()) {
    state.scalars = make_group_scalars(settings.optimizer, built.size(), state.device);
  }
  const GroupScalars& scalars = state.scalars;
  for (std::size_t i = 0; i < built.size(); ++i) {
    const auto part = [i](const torch::Tensor& all) {
      return all.defined() ? all[static_cast<std::int64_t>(i)] : torch::Tensor();
    };
    GroupState& group = built[i];
    group.lr = state.lr;
    group.lr_scale = part(scalars.lr_scales), group.step = part(scalars.steps);
    group.rate = part(scalars.rates), group.eps = part(scalars.eps), group.decay = part(scalars.decay);
    const GroupState* old = find_group(state.groups, group.id);
    if (same || old == nullptr) continue;
    group.lr_scale.copy_(old->lr_scale);
    if (group.step.defined()) group.step.copy_(old->step);
  }
}

// What it was, else as the others' is now.
LossScale scale_of_shadow(const StepState& state, const std::string& id) {
  const GroupState* old = find_group(state.groups, id);
  if (!state.loss_scale.enabled() || (old != nullptr && old->loss_scale.enabled())) {
    return old == nullptr ? LossScale{} : old->loss_scale;
  }
  LossScale fresh = make_loss_scale(state.loss_scale.config, state.device);
  fresh.scale.copy_(state.loss_scale.scale);
  return fresh;
}

// Adam's bias correction counts a group's steps: what joins a group late, as parameters that were frozen do, would go
// up to 7 times lr with the others' count. So the group's optimizer state is reset, as with a new torch.optim
// optimizer.
void restart_where_joined(const std::vector<GroupState>& before, const KeptParameters& kept,
                          std::vector<GroupState>& built, StructureChange& change) {
  for (GroupState& group : built) {
    const auto is_new = [&](const std::string& id) { return !kept.contains(id); };
    if (!group.step.defined() || find_group(before, group.id) == nullptr) continue;
    if (std::ranges::none_of(group.parameter_ids, is_new)) continue;
    restart_optimizer(group);
    std::ranges::copy_if(group.parameter_ids, std::back_inserter(change.reset), std::not_fn(is_new));
  }
}

StructureChange compare(const KeptParameters& kept, const std::vector<GroupState>& before,
                        const std::vector<GroupState>& after) {
  StructureChange change;
  std::unordered_set<std::string> living;
  for (const GroupState& group : after) {
    for (const std::string& id : group.parameter_ids) {
      (kept.contains(id) ? change.carried : change.created).push_back(id);
      living.insert(id);
    }
  }
  for (const GroupState& group : before) {
    for (const std::string& id : group.parameter_ids) {
      if (!living.contains(id)) change.dropped.push_back(id);
    }
  }
  return change;
}

void rebuild_scratch(StepState& state) {
  state.parameters.clear();
  for (const GroupState& group : state.groups) {
    const auto& views = group.parameters.views;
    state.parameters.insert(state.parameters.end(), views.begin(), views.end());
  }
  state.gradients = flat_zeros(state.parameters, state.device).flat;
  state.figures.group_norms = at::zeros({static_cast<std::int64_t>(state.groups.size())}, state.gradients.options());
  std::int64_t begin = 0, index = 0;
  for (GroupState& group : state.groups) {
    const std::int64_t count = group.parameters.flat.numel();
    group.gradients = lay_out(state.gradients.narrow(0, begin, count), group.parameters.views);
    group.gradient_norm = state.figures.group_norms[index++];
    begin += count;
  }
}

void name_group(const GroupState& group, std::vector<NamedTensor>& out) {
  const bool adamw = group.second_moments.defined();
  const std::string first = adamw ? "optimizer.exp_avg." : "optimizer.momentum_buffer.";
  for (std::size_t i = 0; i < group.parameter_ids.size(); ++i) {
    const std::string& id = group.parameter_ids[i];
    out.push_back({id, group.parameters.views[i]});
    if (group.first_moments.defined()) out.push_back({first + id, group.first_moments.views[i]});
    if (adamw) out.push_back({"optimizer.exp_avg_sq." + id, group.second_moments.views[i]});
    if (group.averages.defined()) out.push_back({"ema." + id, group.averages.views[i]});
  }
  if (group.step.defined()) out.push_back({"optimizer.step." + group.id, group.step});
  out.push_back({"optimizer.lr_scale." + group.id, group.lr_scale});
  append_named(group.loss_scale, "." + group.id, out);
}

}  // namespace

void restart_optimizer(const GroupState& group) {
  for (const torch::Tensor& tensor : {group.step, group.first_moments.flat, group.second_moments.flat}) {
    if (tensor.defined()) tensor.zero_();
  }
}

bool is_growing(const StepState& state, const GroupState& group) {
  return group.owner == group.id && group.id != state.groups.front().id;
}

StepState make_step_state(const StepSettings& settings, torch::Device device) {
  StepState state;
  state.device = device;
  state.lr = at::full({}, settings.optimizer.lr, torch::dtype(torch::kFloat32).device(device));
  if (!settings.loss.class_weights.empty()) {
    state.class_weights = torch::tensor(settings.loss.class_weights, torch::kFloat32).to(device);
  }
  if (settings.scales_loss()) state.loss_scale = make_loss_scale(settings.grad_scaler, device);
  state.metrics = make_metric_sums(device);
  state.figures = make_step_figures(device);
  state.aggregation = make_aggregation(settings.aggregation, device);
  return state;
}

StructureChange sync_groups(StepState& state, const StepSettings& settings,
                            std::span<const kasmina::ParameterGroup> groups) {
  at::NoGradGuard no_grad;
  const KeptParameters kept = take_apart(state.groups);
  std::vector<GroupState> built;
  std::vector<std::string> group_ids;
  for (const kasmina::ParameterGroup& group : groups) {
    built.push_back(carry_group(state, settings, group, kept));
    built.back().isolation_gate = group.isolation_gate;
    built.back().in_shadow = group.in_shadow;
    built.back().loss_scale = group.in_shadow ? scale_of_shadow(state, group.id) : LossScale{};
    group_ids.push_back(group.id);
  }
  carry_scalars(state, settings, built);
  StructureChange change = compare(kept, state.groups, built);
  restart_where_joined(state.groups, kept, built, change);
  const auto before = std::exchange(state.groups, std::move(built));
  rebuild_scratch(state);
  sync_group_sums(state.metrics, group_ids);
  sync_aggregation(state, settings.aggregation, groups);
  for (const kasmina::ParameterGroup& group : groups) {
    if (find_group(before, group.id) == nullptr) copy_moments(state, group.copies, change);
  }
  return change;
}

ParameterPlace find_parameter(const StepState& state, const std::string& id) {
  for (const GroupState& group : state.groups) {
    const auto found = std::ranges::find(group.parameter_ids, id);
    if (found != group.parameter_ids.end()) {
      return {&group, static_cast<std::size_t>(found - group.parameter_ids.begin())};
    }
  }
  return {};
}

std::vector<NamedTensor> named_tensors(const StepState& state) {
  std::vector<NamedTensor> out;
  for (const GroupState& group : state.groups) name_group(group, out);
  out.push_back({"optimizer.lr", state.lr});
  append_named(state.loss_scale, "", out);
  append_named(state.metrics, out);
  append_named(state.seed_sums, out);
  if (state.aggregation.steps.defined()) out.push_back({"aggregation.steps", state.aggregation.steps});
  return out;
}

void set_learning_rate(StepState& state, double lr) { state.lr.fill_(lr); }

}  // namespace esper::step
