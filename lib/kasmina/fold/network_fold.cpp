#include "kasmina/fold/network_fold.h"

#include <fmt/core.h>

#include <utility>

#include "base/error.h"
#include "device/asynchronous_error.h"
#include "device/precision.h"
#include "kasmina/network/network_forward.h"
#include "kasmina/network/network_frozen.h"
#include "kasmina/seed/widening.h"
#include "kasmina/slot/gates.h"

namespace esper::kasmina {

namespace {

// Sets parameters to other values while it lives.
class ValueScope {
 public:
  ValueScope(const TensorValues& here, const TensorValues& afterwards) : afterwards_(afterwards) { write_values(here); }
  ~ValueScope() {
    device::put_back([&] { write_values(afterwards_); });
  }
  ValueScope(const ValueScope&) = delete;
  ValueScope& operator=(const ValueScope&) = delete;

 private:
  const TensorValues& afterwards_;
};

LinearLayer layer_named(const Host& host, const std::string& name) {
  LinearLayer layer{find_parameter(host.tensors, name + ".weight"), find_parameter(host.tensors, name + ".bias")};
  ESPER_CHECK(layer.weight.defined(), "the host has no layer " + name);
  return layer;
}

base::Expected<FoldPlan> plan_of(const NetworkState& network, const Slot& slot) {
  if (const auto linear = check_linear(*slot.seed); !linear) return base::failure(linear.error());
  if (slot.site.taken_by.empty()) {
    return base::failure("no single linear layer consumes the output of " + slot.site.id);
  }
  const auto& layer = slot.site.taken_by;
  if (is_frozen(network, layer + ".weight") || is_frozen(network, layer + ".bias")) {
    return base::failure("host.freeze keeps " + layer + " as it is");
  }
  const auto& slots = network.structure.slots;
  const auto next = index_of(network, slot) + 1;
  if (next < slots.size() && slots[next].seed && is_widening(*slots[next].seed)) {
    return base::failure(
        fmt::format("the further units at {} take the output of {} too", slots[next].site.id, slot.site.id));
  }
  FoldPlan plan{layer, slot_map(*slot.seed)};
  if (const auto foldable = check_foldable(layer_named(network.host, plan.layer), plan.map); !foldable) {
    return base::failure(foldable.error());
  }
  return plan;
}

// The change of the network's output on the probe, relative to the largest, with the fold temporarily applied.
double fold_change(const NetworkState& network, const Slot& slot, const Fold& fold, const torch::Tensor& probe) {
  const at::NoGradGuard no_grad;
  const device::FullFp32 full(probe.device());
  const auto before = forward(network, probe, Mode::kEvaluate).to(at::kDouble);
  const ValueScope done(fold.after, fold.before);
  const auto after = network.host.forward(probe, Mode::kEvaluate, [&](std::size_t at, const BlockOutput& from) {
    const auto& other = network.structure.slots[at];
    const bool is_there = other.seed && &other != &slot;
    return is_there ? pass_seed(*other.seed, from, Mode::kEvaluate) : SlotOutput(from.feature);
  });
  return ((after.to(at::kDouble) - before).abs().max() / before.abs().max().clamp_min(1e-12)).item<double>();
}

}  // namespace

std::optional<FoldPlan> fold_plan(const NetworkState& network, const std::string& seed_id) {
  const auto* slot = find_seed(network.structure.slots, seed_id);
  if (!slot || slot->seed->folded || !network.growth.fold_fossils) return std::nullopt;
  auto plan = plan_of(network, *slot);
  return plan ? std::optional(*std::move(plan)) : std::nullopt;
}

std::vector<NamedTensor> folded_layer(const NetworkState& network, const std::string& seed_id) {
  const auto plan = fold_plan(network, seed_id);
  if (!plan) return {};
  const auto layer = folded(layer_named(network.host, plan->layer), plan->map);
  std::vector<NamedTensor> values = {{plan->layer + ".weight", layer.weight}};
  if (layer.bias.defined()) values.push_back({plan->layer + ".bias", layer.bias});
  return values;
}

std::optional<Fold> try_fold(const NetworkState& network, const Slot& slot, const torch::Tensor& probe) {
  if (!network.growth.fold_fossils || slot.seed->kind.blueprint->algebra != Algebra::kAffine) return std::nullopt;
  Fold fold;
  fold.event.kind = LifecycleEvent::Kind::kFold;
  fold.event.passed = false;
  const auto plan = plan_of(network, slot);
  if (!plan) {
    fold.event.reason = plan.error();
    return fold;
  }
  if (!probe.defined() || probe.numel() == 0) {
    fold.event.reason = "no probe batch to measure it on";
    return fold;
  }
  const auto layer = layer_named(network.host, plan->layer);
  const auto values = folded(layer, plan->map);
  fold.before = {{layer.weight, layer.weight.detach().clone()}};
  fold.after = {{layer.weight, values.weight}};
  if (values.bias.defined()) {
    fold.before.emplace_back(layer.bias, layer.bias.detach().clone());
    fold.after.emplace_back(layer.bias, values.bias);
  }
  const double change = fold_change(network, slot, fold, probe);
  fold.event.values = {{"relative_output_change", change}};
  fold.event.required = {{"relative_output_change", kMaxFoldChange}};
  fold.event.passed = change <= kMaxFoldChange;  // false for NaN
  fold.event.reason = fmt::format("relative_output_change {:.3g} <= {:.3g}", change, kMaxFoldChange);
  return fold;
}

LifecycleEvent apply_fold(NetworkState& network, const Fold& fold, Slot& slot, const std::string& command_id,
                          TensorValues& overwritten) {
  auto& seed = *slot.seed;
  auto event = fold.event;
  event.seed_id = seed.id;
  event.slot = slot.site.id;
  event.blueprint = name_of(seed.kind);
  event.from = event.to = slot.stage;
  event.command_id = command_id;
  event.values.emplace_back("params", static_cast<double>(seed.module.tensors.num_parameters()));
  event.reason =
      fmt::format("{}: {}", event.passed ? "folded into " + slot.site.taken_by : "stays as it is", event.reason);
  if (!event.passed) return event;
  overwritten.insert(overwritten.end(), fold.before.begin(), fold.before.end());
  write_values(fold.after);
  for (const auto& parameter : seed.module.tensors.parameters)
    network.structure.ownership.release_parameter(parameter.id);
  drop_tensors(seed);
  return event;
}

}  // namespace esper::kasmina
