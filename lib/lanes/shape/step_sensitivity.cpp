#include "lanes/shape/step_sensitivity.h"

#include "device/rng.h"

namespace esper::lanes {
namespace {

// Multiplies the parameters by 1 + change * x, x normally distributed. Draws nothing from the run's generators.
void add_noise(const step::Model& model, double change) {
  constexpr std::uint64_t kSeed = 1;
  const at::Generator generator = device::make_generator(kSeed);
  for (const torch::Tensor& parameter : model.state.parameters) {
    const torch::Tensor factors = at::randn(parameter.sizes(), generator, at::kFloat).mul_(change).add_(1);
    parameter.detach().mul_(factors.to(parameter.options().requires_grad(false)));
  }
}

}  // namespace

double step_sensitivity(const LaneContext& context, const StepSnapshot& before, const program::Tracked& item,
                        double change, std::span<const step::Microbatch> microbatches) {
  step::Model& model = context.model;
  const torch::Tensor value = item.tensor.detach(), from = before.saved(value), expected = value.clone();
  const StepSnapshot eager(model, context.device);
  torch::Tensor changed;
  try {
    before.restore();
    add_noise(model, change);
    const torch::Tensor noise = value.sub(from);
    step::train_step(model.state, model.settings, microbatches, context.forward);
    changed = value.sub(noise);
  } catch (...) {
    eager.restore();
    throw;
  }
  eager.restore();
  const auto difference = program::first_difference({item}, {from}, {expected}, {changed}, {});
  return difference ? difference->difference : 0;
}

}  // namespace esper::lanes
