#include "lanes/shape/step_sensitivity.h"

#include <cstddef>
#include <cstdint>

#include "device/rng.h"

namespace esper::lanes {
namespace {

// Adds to the parameters change * x times themselves, x normally distributed, and as much to their averages: an average
// follows its parameter, and would else change by a part of the noise. Draws nothing from the run's generators.
void add_noise(const step::Model& model, double change) {
  constexpr std::uint64_t kSeed = 1;
  const at::Generator generator = device::make_generator(kSeed);
  for (const step::GroupState& group : model.state.groups) {
    for (std::size_t i = 0; i < group.parameters.views.size(); ++i) {
      const torch::Tensor parameter = group.parameters.views[i].detach();
      const torch::Tensor factors = at::randn(parameter.sizes(), generator, at::kFloat).mul_(change);
      const torch::Tensor noise = parameter.mul(factors.to(parameter.options()));
      parameter.add_(noise);
      if (group.averages.defined()) group.averages.views[i].add_(noise);
    }
  }
}

}  // namespace

double step_sensitivity(const LaneContext& context, const StepSnapshot& before, const program::Tracked& item,
                        double change, std::span<const step::Microbatch> microbatches) {
  step::Model& model = context.model;
  const torch::Tensor value = item.tensor.detach(), from = before.saved(item.tensor), expected = value.clone();
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
