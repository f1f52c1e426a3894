#include "step/copied_moments.h"

#include "base/error.h"

namespace esper::step {
namespace {

struct Copying {
  ParameterPlace from, to;
};

// False if the optimizer keeps no such moments. scale: of the source's values.
bool take_moment(const Copying& of, FlatTensors GroupState::* moments, double scale) {
  const torch::Tensor source = view_of(of.from.group->*moments, of.from.index);
  if (!source.defined()) return false;
  torch::Tensor copy = view_of(of.to.group->*moments, of.to.index);
  copy.copy_(kasmina::leading_part(source, copy));
  if (scale != 1) copy.mul_(scale);
  return true;
}

// Bias corrections 1 - beta^step, [2, 1]; after no step those of one.
torch::Tensor corrections(const GroupScalars& scalars, const torch::Tensor& step) {
  return (scalars.log_betas * step.clamp_min(1)).expm1().neg();
}

void restart_young(const GroupState& group, const GroupScalars& scalars) {
  const torch::Tensor youngest = -scalars.log_betas[0].expm1().reciprocal().squeeze();
  const torch::Tensor young = at::minimum(group.step, youngest);
  const torch::Tensor factors = corrections(scalars, young) / corrections(scalars, group.step);
  torch::Tensor(group.first_moments.flat).mul_(factors[0]);
  torch::Tensor(group.second_moments.flat).mul_(factors[1]);
  torch::Tensor(group.step).copy_(young);
}

}  // namespace

void copy_moments(StepState& state, std::span<const kasmina::ParameterCopy> copies, StructureChange& change) {
  const at::NoGradGuard no_grad;
  std::size_t taken = 0;
  for (const auto& [id, source, kind, share] : copies) {
    const Copying parameter{find_parameter(state, source), find_parameter(state, id)};
    ESPER_CHECK(parameter.to.group != nullptr, id + " is a copy of " + source + ", and is not there");
    if (parameter.from.group == nullptr) continue;  // frozen: it has no moments
    ++taken;
    const bool is_whole = kind == kasmina::CopyKind::kWhole;
    const bool has_first = is_whole && take_moment(parameter, &GroupState::first_moments, share);
    const bool has_second = take_moment(parameter, &GroupState::second_moments, share * share);
    if (has_second) parameter.to.group->step.copy_(parameter.from.group->step);
    if (has_first || has_second) (is_whole ? change.copied : change.reset).push_back(id);
  }
  if (taken == 0 || !state.scalars.log_betas.defined()) return;
  const GroupState& group = *find_parameter(state, copies.front().id).group;
  if (taken < group.parameter_ids.size()) restart_young(group, state.scalars);
}

}  // namespace esper::step
