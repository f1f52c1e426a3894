#include "kasmina/seed/widening.h"

#include <ATen/ops/linear.h>
#include <ATen/ops/zeros_like.h>

#include <algorithm>
#include <utility>

#include "base/error.h"
#include "kasmina/seed/composition.h"

namespace esper::kasmina {

using config::Composition;

namespace {

constexpr double kShare = 0.5;         // of an original's outgoing weight that its copy takes, on average
constexpr double kShareSpread = 0.25;  // the largest deviation from it

const torch::Tensor& outlet_of(const Seed& seed) { return seed.module.further.outlet; }

bool is_outlet(const Seed& seed, const torch::Tensor& tensor) { return tensor.is_same(outlet_of(seed)); }

// n - c, or n in a widening that is part of the host.
torch::Tensor new_units(const Seed& seed, const BlockOutput& from, Mode mode) {
  torch::Tensor units = seed.module.forward(from.inlet, mode);
  if (seed.in_host) return units;
  const std::int64_t channels = seed.shape.kind == FeatureKind::kSequence ? units.dim() - 1 : 1;
  return units - from.units.narrow(channels, 0, units.size(channels));
}

SlotOutput attached(const Seed& seed, const torch::Tensor& feature, const torch::Tensor& units,
                    const torch::Tensor& weight) {
  if (seed.module.further.leads_to == HiddenLayer::Outlet::kNextBlock) return {feature, units, weight};
  return feature + at::linear(units, weight);
}

// A widening with gradients, on the way to the host's copied units through `from`.
SlotOutput widen_learning(const Seed& seed, const BlockOutput& from, Mode mode) {
  const auto& scalars = seed.scalars;
  const auto isolated = [&](const torch::Tensor& x) { return scale_gradient(x, scalars.isolation_gate); };
  const auto units = new_units(seed, {from.feature, isolated(from.inlet), isolated(from.units)}, mode);
  return attached(seed, from.feature, scalars.alpha * scale_gradient(units, scalars.training_gate),
                  scale_gradient(outlet_of(seed), scalars.training_gate));
}

SlotOutput widen(const Seed& seed, const BlockOutput& from, Mode mode) {
  if (!seed.in_host && at::GradMode::is_enabled()) return widen_learning(seed, from, mode);
  const auto units = new_units(seed, from, mode);
  return attached(seed, from.feature, seed.in_host ? units : seed.scalars.alpha * units, outlet_of(seed));
}

}  // namespace

bool is_widening(const Seed& seed) { return seed.kind.blueprint->birth == Birth::kWidening; }

std::vector<ParameterCopy> copies_of_units(const Seed& seed, const SlotSite& site) {
  std::vector<ParameterCopy> copies;
  for (const auto& [id, tensor] : seed.module.tensors.parameters) {
    if (is_outlet(seed, tensor)) {
      copies.push_back({id, site.hidden->outlet, CopyKind::kZeroed});
    } else {
      copies.push_back({id, site.hidden->units + id.substr(seed.id.size()), CopyKind::kWhole, kShare});
    }
  }
  return copies;
}

void copy_units(const Seed& seed, const SlotSite& site, const TensorTable& host) {
  const at::NoGradGuard no_grad;
  for (const auto& [id, source, kind, share] : copies_of_units(seed, site)) {
    torch::Tensor copy = find_parameter(seed.module.tensors, id);
    const auto original = leading_part(find_parameter(host, source), copy);
    if (is_outlet(seed, copy)) {
      const auto drawn = copy / copy.abs().max().clamp_min(1e-30);  // the shares' random numbers
      copy.copy_(original * (kShare + kShareSpread * drawn));
    } else {
      copy.copy_(original);
    }
  }
  for (const auto& [id, tensor] : seed.module.tensors.buffers) {
    const auto source =
        std::ranges::find(host.buffers, site.hidden->units + id.substr(seed.id.size()), &NamedTensor::id);
    ESPER_CHECK(source != host.buffers.end(), "the host has no buffer like " + id);
    torch::Tensor(tensor).copy_(leading_part(source->tensor, tensor));
  }
}

torch::Tensor parted_weight(const torch::Tensor& host_weight, const torch::Tensor& further_columns) {
  const at::NoGradGuard no_grad;
  torch::Tensor parted = host_weight.detach().clone();
  leading_part(parted, further_columns).sub_(further_columns);
  return parted;
}

SlotOutput pass_seed(const Seed& seed, const BlockOutput& from, Mode mode) {
  return is_widening(seed) ? widen(seed, from, mode) : SlotOutput(apply_seed(seed, from.feature, mode));
}

SlotOutput pass_seed(const Seed& seed, const BlockOutput& from, const AlphaBranches& branches) {
  if (!is_widening(seed)) return apply_seed(seed, from.feature, branches);
  const auto& feature = from.feature;
  const auto units = new_units(seed, from, Mode::kEvaluate), none = at::zeros_like(units);
  return attached(seed, compose_groups(Composition::kAdd, {feature, feature, feature, {}}, branches),
                  compose_groups(Composition::kAdd, {none, none, units, {}}, branches), outlet_of(seed));
}

SlotTap tap_pass(const Seed& seed, const BlockOutput& from, Mode mode, SlotOutput& output) {
  if (!is_widening(seed)) {
    SlotTap tap = tap_seed(seed, from.feature, mode);
    output = tap.output;
    return tap;
  }
  SlotTap tap{at::alias(from.feature), at::alias(from.feature), {}, {}, seed.scalars.isolation_gate};
  const bool in_next_block = seed.module.further.leads_to == HiddenLayer::Outlet::kNextBlock;
  // There the copied units are the feature; else they are inside the block, and no gradient is measured on that path.
  output = widen_learning(seed, {tap.host_path, from.inlet, in_next_block ? tap.seed_path : from.units}, mode);
  tap.output = in_next_block ? output.units : output.feature;
  tap.change = in_next_block ? tap.output.detach() : tap.output.detach() - from.feature.detach();
  return tap;
}

}  // namespace esper::kasmina
