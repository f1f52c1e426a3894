#include "kasmina/command/network_probe.h"

#include <ATen/ops/softplus.h>
#include <torch/csrc/autograd/autograd.h>

#include "device/asynchronous_error.h"
#include "device/precision.h"
#include "kasmina/network/network_forward.h"
#include "kasmina/seed/widening.h"

namespace esper::kasmina {

using leyline::Stage;

namespace {

double l2_norm(const std::vector<torch::Tensor>& gradients) {
  std::vector<torch::Tensor> norms;
  for (const auto& gradient : gradients) {
    if (gradient.defined()) norms.push_back(at::linalg_vector_norm(gradient));
  }
  return norms.empty() ? 0.0 : at::linalg_vector_norm(at::stack(norms)).item<double>();
}

// The cross entropy of the first class, whatever the output means: its gradient is zero nowhere. One output alone is
// the first of two classes; the other's is zero.
torch::Tensor probe_loss(const torch::Tensor& output) {
  if (output.size(-1) == 1) return at::softplus(-output).mean();
  return (output.logsumexp(-1) - output.select(-1, 0)).mean();
}

// Sets a seed's scalars to those of another stage while it lives.
class StageScope {
 public:
  StageScope(const SeedScalars& scalars, const ScalarValues& here, const ScalarValues& afterwards)
      : scalars_(scalars), afterwards_(afterwards) {
    write_scalars(scalars_, here);
  }
  ~StageScope() {
    device::put_back([&] { write_scalars(scalars_, afterwards_); });
  }
  StageScope(const StageScope&) = delete;
  StageScope& operator=(const StageScope&) = delete;

 private:
  const SeedScalars& scalars_;
  ScalarValues afterwards_;
};

}  // namespace

GraftEvidence measure_graft(const NetworkState& network, std::size_t slot, const Seed& seed,
                            const torch::Tensor& probe) {
  GraftEvidence evidence;
  if (is_widening(seed)) evidence.max_change_at_full_alpha = kMaxWideningChange;
  if (!probe.defined() || probe.numel() == 0) return evidence;
  const at::NoGradGuard no_grad;
  const device::FullFp32 full_precision(probe.device());
  const auto output = [&] {
    return network.host.forward(probe, Mode::kEvaluate, [&](std::size_t at, const BlockOutput& from) {
      if (at == slot) return pass_seed(seed, from, Mode::kEvaluate);
      const auto& other = network.structure.slots[at].seed;
      return other ? pass_seed(*other, from, Mode::kEvaluate) : SlotOutput(from.feature);
    });
  };
  const auto before = forward(network, probe, Mode::kEvaluate).to(at::kDouble);
  const auto after = output().to(at::kDouble);
  seed.scalars.alpha.fill_(1);
  const auto full = output().to(at::kDouble);
  seed.scalars.alpha.fill_(0);
  auto broken = at::zeros({}, before.options());
  for (const auto& parameter : seed.module.tensors.parameters)
    broken += at::isfinite(parameter.tensor).all().logical_not();
  const auto scale = before.abs().max().clamp_min(1e-12);
  const auto measured =
      at::stack({broken, (after - before).abs().max() / scale, (full - before).abs().max() / scale}).cpu();
  const auto* values = measured.const_data_ptr<double>();
  evidence.nonfinite_parameters = values[0];
  evidence.relative_change = values[1];
  evidence.change_at_full_alpha = values[2];
  return evidence;
}

GradientEvidence measure_gradient(const NetworkState& network, const Slot& slot, const torch::Tensor& probe) {
  const auto& seed = *slot.seed;
  GradientEvidence evidence{static_cast<double>(seed.module.tensors.num_parameters()), std::nullopt};
  if (!probe.defined() || probe.numel() == 0 || evidence.num_parameters == 0) return evidence;
  std::vector<torch::Tensor> parameters;
  for (const auto& parameter : seed.module.tensors.parameters) parameters.push_back(parameter.tensor);
  const at::AutoGradMode with_grad(true);
  const AlphaController alpha = alpha_on_entry(seed, Stage::kTraining);
  auto in_training = scalar_values({Stage::kTraining, seed.training, alpha}, network.growth);
  if (seed.training == config::SeedTraining::kShadow) in_training.alpha = 1;  // as in its own forward
  const StageScope as_in_training(seed.scalars, in_training, scalar_values(seed, slot.stage, network.growth));
  const auto loss = probe_loss(forward(network, probe, Mode::kEvaluate));
  if (loss.requires_grad()) {
    evidence.gradient_norm = l2_norm(torch::autograd::grad({loss}, parameters, {}, std::nullopt, false, true));
  }
  return evidence;
}

}  // namespace esper::kasmina
