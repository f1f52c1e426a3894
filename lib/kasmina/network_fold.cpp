// Folds a linear fossil into the host's layer after its slot.

#include <fmt/core.h>

#include <algorithm>
#include <utility>

#include "base/error.h"
#include "kasmina/gates.h"
#include "kasmina/lifecycle.h"
#include "kasmina/network.h"
#include "kasmina/widening.h"

namespace esper::kasmina {

using leyline::Stage;

namespace {

// Sets parameters to other values while it lives.
class ValueScope {
 public:
  ValueScope(const TensorValues& here, const TensorValues& afterwards) : afterwards_(afterwards) { write_values(here); }
  ~ValueScope() { write_values(afterwards_); }
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

}  // namespace

base::Expected<Network::FoldPlan> Network::plan_of(const Slot& slot) const {
  if (const auto linear = check_linear(*slot.seed); !linear) return base::failure(linear.error());
  if (slot.site.taken_by.empty()) {
    return base::failure("no single linear layer consumes the output of " + slot.site.id);
  }
  const auto next = index_of(slot) + 1;
  if (next < structure_.slots.size() && structure_.slots[next].seed && is_widening(*structure_.slots[next].seed)) {
    return base::failure(
        fmt::format("the further units at {} take the output of {} too", structure_.slots[next].site.id, slot.site.id));
  }
  FoldPlan plan{slot.site.taken_by, slot_map(*slot.seed)};
  if (const auto foldable = check_foldable(layer_named(host_, plan.layer), plan.map); !foldable) {
    return base::failure(foldable.error());
  }
  return plan;
}

std::optional<Network::FoldPlan> Network::fold_plan(const std::string& seed_id) const {
  const auto* slot = find_seed(structure_.slots, seed_id);
  if (!slot || slot->seed->folded || !growth_.fold_fossils) return std::nullopt;
  auto plan = plan_of(*slot);
  return plan ? std::optional(*std::move(plan)) : std::nullopt;
}

bool Network::may_fossilize(const std::string& seed_id) const {
  const auto* slot = find_seed(structure_.slots, seed_id);
  return slot && !check_move(slot->stage, Stage::kFossilized) &&
         contribution_gate(evidence_of(*slot), growth_.gates).passed;
}

std::vector<NamedTensor> Network::folded_layer(const std::string& seed_id) const {
  const auto plan = fold_plan(seed_id);
  if (!plan) return {};
  const auto layer = folded(layer_named(host_, plan->layer), plan->map);
  std::vector<NamedTensor> values = {{plan->layer + ".weight", layer.weight}};
  if (layer.bias.defined()) values.push_back({plan->layer + ".bias", layer.bias});
  return values;
}

// The change of the network's output on the probe, relative to the largest, with the fold temporarily applied.
double Network::fold_change(const Slot& slot, const Fold& fold, const torch::Tensor& probe) const {
  const at::NoGradGuard no_grad;
  const auto before = forward(probe, Mode::kEvaluate).to(at::kDouble);
  const ValueScope done(fold.after, fold.before);
  const auto after = host_.forward(probe, Mode::kEvaluate, [&](std::size_t at, const BlockOutput& from) {
    const auto& other = structure_.slots[at];
    const bool is_there = other.seed && &other != &slot;
    return is_there ? pass_seed(*other.seed, from, Mode::kEvaluate) : SlotOutput(from.feature);
  });
  return ((after.to(at::kDouble) - before).abs().max() / before.abs().max().clamp_min(1e-12)).item<double>();
}

// Empty for a seed that is not linear by itself. Changes nothing.
std::optional<Network::Fold> Network::try_fold(const Slot& slot, const torch::Tensor& probe) {
  if (!growth_.fold_fossils || slot.seed->kind.blueprint->algebra != Algebra::kAffine) return std::nullopt;
  Fold fold;
  fold.event.kind = LifecycleEvent::Kind::kFold;
  fold.event.passed = false;
  const auto plan = plan_of(slot);
  if (!plan) {
    fold.event.reason = plan.error();
    return fold;
  }
  if (!probe.defined() || probe.numel() == 0) {
    fold.event.reason = "no probe batch to measure it on";
    return fold;
  }
  const auto layer = layer_named(host_, plan->layer);
  const auto values = folded(layer, plan->map);
  fold.before = {{layer.weight, layer.weight.detach().clone()}};
  fold.after = {{layer.weight, values.weight}};
  if (values.bias.defined()) {
    fold.before.emplace_back(layer.bias, layer.bias.detach().clone());
    fold.after.emplace_back(layer.bias, values.bias);
  }
  const double change = fold_change(slot, fold, probe);
  fold.event.values = {{"relative_output_change", change}};
  fold.event.required = {{"relative_output_change", kMaxFoldChange}};
  fold.event.passed = change <= kMaxFoldChange;  // false for NaN
  fold.event.reason = fmt::format("relative_output_change {:.3g} <= {:.3g}", change, kMaxFoldChange);
  return fold;
}

// Allocates nothing: the command can no longer be rejected.
LifecycleEvent Network::carry_out(const Fold& fold, Slot& slot, const Order& order) {
  auto& seed = *slot.seed;
  auto event = fold.event;
  event.seed_id = seed.id;
  event.slot = slot.site.id;
  event.blueprint = name_of(seed.kind);
  event.from = event.to = slot.stage;
  event.command_id = order.command.command_id;
  event.values.emplace_back("params", static_cast<double>(seed.module.tensors.num_parameters()));
  event.reason =
      fmt::format("{}: {}", event.passed ? "folded into " + slot.site.taken_by : "stays as it is", event.reason);
  if (!event.passed) return event;
  order.overwritten.insert(order.overwritten.end(), fold.before.begin(), fold.before.end());
  write_values(fold.after);
  for (const auto& parameter : seed.module.tensors.parameters) structure_.ownership.release_parameter(parameter.id);
  drop_tensors(seed);
  return event;
}

}  // namespace esper::kasmina
