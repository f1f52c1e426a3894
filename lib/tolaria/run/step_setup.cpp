#include "tolaria/run/step_setup.h"

#include <torch/types.h>

#include <chrono>

#include "step/probe.h"

namespace esper::tolaria {

StepSetup::StepSetup(const RunFacts& facts, step::Model& model)
    : facts_(facts),
      model_(model),
      schedule_{facts.config.growth.seed_schedule, facts.config.training.schedule, facts.length()} {}

void StepSetup::follow_network() {
  schedule_.length = facts_.length();
  if (!schedule_.is_default()) groups_ = model_.network.parameter_groups();
}

void StepSetup::prepare(std::int64_t step, double rate_factor, std::span<const step::Microbatch> microbatches) {
  step::set_learning_rate(model_.state, facts_.learning_rate(step) * rate_factor);
  if (!groups_.empty()) {
    step::find_lr_scales(schedule_, groups_, step, scales_);
    step::write_lr_scales(model_.state, scales_);
  }
  step::probe_attribution(model_, microbatches);
}

std::map<std::string, double> StepSetup::learning_rates(std::int64_t step, double rate_factor) {
  std::map<std::string, double> rates;
  if (groups_.empty()) return rates;
  step::find_lr_scales(schedule_, groups_, step, scales_);
  for (std::size_t i = 0; i < groups_.size(); ++i)
    rates[groups_[i].id] = facts_.learning_rate(step) * rate_factor * scales_[i];
  return rates;
}

device::QueuedWork queued_steps(torch::Device device) { return {8, std::chrono::milliseconds(50), device}; }

}  // namespace esper::tolaria
