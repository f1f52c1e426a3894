#include "tolaria/step_state.h"

#include <algorithm>
#include <unordered_map>

#include "leyline/error.h"

namespace esper::tolaria {
namespace {

using kasmina::NamedTensor;
using leyline::OptimizerKind;

// What is kept for one parameter while groups are rearranged.
struct ParameterState {
  torch::Tensor first_moment, second_moment, average;
};

struct GroupScalars {
  torch::Tensor step, lr_scale;
};

struct Kept {
  std::unordered_map<std::string, ParameterState> parameters;
  std::unordered_map<std::string, GroupScalars> groups;
};

bool keeps_first_moment(const StepSettings& settings) {
  return settings.optimizer.kind == OptimizerKind::kAdamw || settings.optimizer.momentum != 0;
}

bool keeps_second_moment(const StepSettings& settings) { return settings.optimizer.kind == OptimizerKind::kAdamw; }

Kept take_apart(const std::vector<GroupState>& groups) {
  Kept kept;
  for (const GroupState& group : groups) {
    kept.groups[group.id] = {group.step, group.lr_scale};
    for (std::size_t i = 0; i < group.parameters.size(); ++i) {
      ParameterState& state = kept.parameters[group.parameter_ids[i]];
      if (!group.first_moments.empty()) state.first_moment = group.first_moments[i];
      if (!group.second_moments.empty()) state.second_moment = group.second_moments[i];
      if (!group.averages.empty()) state.average = group.averages[i];
    }
  }
  return kept;
}

ParameterState new_parameter_state(const StepSettings& settings, const torch::Tensor& parameter) {
  const torch::Tensor value = parameter.detach();
  ParameterState state;
  if (keeps_first_moment(settings)) state.first_moment = at::zeros_like(value);
  if (keeps_second_moment(settings)) state.second_moment = at::zeros_like(value);
  if (settings.ema_decay > 0) state.average = value.clone();
  return state;
}

void append(GroupState& group, const NamedTensor& parameter, const ParameterState& state) {
  group.parameter_ids.push_back(parameter.id);
  group.parameters.push_back(parameter.tensor);
  if (state.first_moment.defined()) group.first_moments.push_back(state.first_moment);
  if (state.second_moment.defined()) group.second_moments.push_back(state.second_moment);
  if (state.average.defined()) group.averages.push_back(state.average);
}

GroupState build_group(const StepState& state, const StepSettings& settings, const kasmina::ParameterGroup& group,
                       Kept& kept, StructureChange& change) {
  GroupState built;
  built.id = group.id;
  if (const auto found = kept.groups.find(group.id); found != kept.groups.end()) {
    built.step = found->second.step;
    built.lr_scale = found->second.lr_scale;
  } else {
    const auto options = torch::dtype(torch::kFloat32).device(state.device);
    built.step = at::zeros({}, options);
    built.lr_scale = at::ones({}, options);
  }
  for (const NamedTensor& parameter : group.parameters) {
    const auto found = kept.parameters.find(parameter.id);
    if (found == kept.parameters.end()) {
      append(built, parameter, new_parameter_state(settings, parameter.tensor));
      change.created.push_back(parameter.id);
      continue;
    }
    const torch::Tensor& moment = found->second.first_moment;
    ESPER_CHECK(!moment.defined() || moment.sizes() == parameter.tensor.sizes(),
                "parameter '" + parameter.id + "' came back with another shape: ids are never reused");
    append(built, parameter, found->second);
    change.carried.push_back(parameter.id);
    kept.parameters.erase(found);
  }
  return built;
}

void rebuild_derived(StepState& state) {
  state.parameters.clear();
  for (const GroupState& group : state.groups) {
    state.parameters.insert(state.parameters.end(), group.parameters.begin(), group.parameters.end());
  }
  torch::Tensor membership =
      at::zeros({static_cast<std::int64_t>(state.groups.size()), static_cast<std::int64_t>(state.parameters.size())});
  std::int64_t begin = 0;
  for (std::size_t g = 0; g < state.groups.size(); ++g) {
    const auto count = static_cast<std::int64_t>(state.groups[g].parameters.size());
    membership[static_cast<std::int64_t>(g)].narrow(0, begin, count).fill_(1);
    begin += count;
  }
  state.membership = membership.to(state.device);
}

void name_group(const GroupState& group, std::vector<NamedTensor>& out) {
  const bool adamw = !group.second_moments.empty();
  const std::string first = adamw ? "optimizer.exp_avg." : "optimizer.momentum_buffer.";
  for (std::size_t i = 0; i < group.parameters.size(); ++i) {
    const std::string& id = group.parameter_ids[i];
    out.push_back({id, group.parameters[i]});
    if (!group.first_moments.empty()) out.push_back({first + id, group.first_moments[i]});
    if (adamw) out.push_back({"optimizer.exp_avg_sq." + id, group.second_moments[i]});
    if (!group.averages.empty()) out.push_back({"ema." + id, group.averages[i]});
  }
  out.push_back({"optimizer.step." + group.id, group.step});
  out.push_back({"optimizer.lr_scale." + group.id, group.lr_scale});
}

}  // namespace

StepState make_step_state(const StepSettings& settings, torch::Device device) {
  StepState state;
  state.device = device;
  state.lr = at::full({}, settings.optimizer.lr, torch::dtype(torch::kFloat32).device(device));
  state.loss_scale = make_loss_scale(settings.compute_type, device);
  state.metrics = make_metric_sums(device);
  return state;
}

StructureChange sync_groups(StepState& state, const StepSettings& settings,
                            std::span<const kasmina::ParameterGroup> groups) {
  at::NoGradGuard no_grad;
  Kept kept = take_apart(state.groups);
  StructureChange change;
  std::vector<GroupState> built;
  std::vector<std::string> group_ids;
  for (const kasmina::ParameterGroup& group : groups) {
    built.push_back(build_group(state, settings, group, kept, change));
    group_ids.push_back(group.id);
  }
  for (const GroupState& group : state.groups) {
    for (const std::string& id : group.parameter_ids) {
      if (kept.parameters.contains(id)) change.dropped.push_back(id);
    }
  }
  state.groups = std::move(built);
  rebuild_derived(state);
  sync_group_sums(state.metrics, group_ids);
  return change;
}

std::vector<NamedTensor> named_tensors(const StepState& state) {
  std::vector<NamedTensor> out;
  for (const GroupState& group : state.groups) name_group(group, out);
  out.push_back({"optimizer.lr", state.lr});
  append_named(state.loss_scale, out);
  append_named(state.metrics, out);
  return out;
}

void set_learning_rate(StepState& state, double lr) { state.lr.fill_(lr); }

void set_lr_scale(StepState& state, const std::string& group_id, double scale) {
  const auto group = std::find_if(state.groups.begin(), state.groups.end(),
                                  [&](const GroupState& candidate) { return candidate.id == group_id; });
  ESPER_CHECK(group != state.groups.end(), "no parameter group '" + group_id + "'");
  group->lr_scale.fill_(scale);
}

}  // namespace esper::tolaria
