#include "step/scaled_parts.h"

namespace esper::step {
namespace {

void append_written(const GroupState& group, std::vector<torch::Tensor>& written) {
  if (group.step.defined()) written.push_back(group.step);
  for (const FlatTensors& kept : {group.parameters, group.first_moments, group.second_moments, group.averages}) {
    if (kept.defined()) written.push_back(kept.flat);
  }
}

// The forward of a seed in the shadow writes its own, and nobody else's does.
void share_out_statistics(const StepState& state, std::vector<ScaledPart>& parts) {
  for (const auto& [id, tensor] : state.statistics) {
    auto part = parts.begin();
    for (auto next = parts.begin() + 1; const GroupState& group : state.groups) {
      if (!group.loss_scale.enabled()) continue;
      if (id.starts_with(group.id + ".")) part = next;
      ++next;
    }
    part->statistics.push_back(tensor);
  }
}

}  // namespace

std::vector<ScaledPart> scaled_parts(const StepState& state) {
  if (!state.loss_scale.enabled()) return {};
  std::vector<ScaledPart> parts{{&state.loss_scale, {}, {}, {}}};
  for (const GroupState& group : state.groups) {
    if (group.loss_scale.enabled()) parts.push_back({&group.loss_scale, {}, {}, {}});
    ScaledPart& part = group.loss_scale.enabled() ? parts.back() : parts.front();
    part.gradients.push_back(group.gradients.flat);
    append_written(group, part.written);
  }
  if (parts.size() == 1) parts.front().gradients = {state.gradients};
  share_out_statistics(state, parts);
  return parts;
}

void unscale(std::span<const ScaledPart> parts) {
  for (const ScaledPart& part : parts) {
    unscale(*part.loss_scale, part.gradients);
    if (&part == &parts.front()) continue;
    torch::Tensor gradient = part.gradients.front();
    at::where_out(gradient, part.loss_scale->found_inf.to(torch::kBool), at::zeros({}, gradient.options()), gradient);
  }
}

void keep_finite_parts(std::span<const ScaledPart> parts, WrittenTensors tensors, const std::function<void()>& run) {
  if (parts.empty()) return run();
  const auto rest = [&] { keep_finite_parts(parts.subspan(1), tensors, run); };
  const ScaledPart& part = parts.front();
  (part.*tensors).empty() ? rest() : keep_if_finite(*part.loss_scale, part.*tensors, rest);
}

void update_scales(std::span<const ScaledPart> parts) {
  for (const ScaledPart& part : parts) update_scale(*part.loss_scale);
}

}  // namespace esper::step
