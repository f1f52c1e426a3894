#include "engine/bench/growth/grown.h"

#include <torch/types.h>

#include "base/error.h"
#include "kasmina/network/network_seeds.h"
#include "leyline/seed_command.h"

namespace esper::engine::bench {
namespace {

using leyline::SeedOperation;

constexpr int kPoolLayers = 2;  // no module with a 3 x 3 convolution grows where a single pixel is left

config::RunConfig with_four_slots(config::RunConfig config) {
  config.host.blocks = kMostSeeds;
  config.host.pool_layers = kPoolLayers;
  config.growth.max_seeds = kMostSeeds;
  return config;
}

const torch::Tensor& probe_of(const Workload& workload) { return workload.steps.front().front().inputs; }

// The configured host in the stated settings, with newborn seeds in its first slots.
std::unique_ptr<step::Model> grow(const Workload& workload, int seeds, const config::RunConfig& config,
                                  const step::StepSettings& settings) {
  const auto& setup = workload.setup;
  auto model = step::build_model(with_four_slots(config), setup.data.train.shape, settings, setup.device);
  const auto slots = kasmina::export_slots(model->network.state());
  for (int i = 0; i < seeds; ++i) {
    const auto& slot = slots.at(static_cast<std::size_t>(i));
    model->network.apply(leyline::germination(slot.slot, slot.slot, slot.blueprints.front()), probe_of(workload));
  }
  ESPER_CHECK(kasmina::export_seed_states(model->network.state()).size() == static_cast<std::size_t>(seeds),
              "a seed did not grow");
  step::follow_structure(*model);
  return model;
}

}  // namespace

std::unique_ptr<step::Model> grown_model(const Workload& workload, int seeds,
                                         const config::AggregationConfig& aggregation) {
  step::StepSettings settings = workload.setup.settings;
  settings.aggregation.config = aggregation;
  return grow(workload, seeds, workload.setup.config, settings);
}

std::unique_ptr<step::Model> training_model(const Workload& workload, int seeds, config::SeedTraining training) {
  config::RunConfig config = workload.setup.config;
  config.growth.training = training;
  auto model = grow(workload, seeds, config, workload.setup.settings);
  for (const auto& seed : kasmina::export_seed_states(model->network.state())) {
    const auto command = leyline::seed_command("train " + seed.seed_id, SeedOperation::kStartTraining, seed.seed_id);
    const auto events = model->network.apply(command, probe_of(workload));
    ESPER_CHECK(events.back().kind != kasmina::LifecycleEvent::Kind::kCommandRejected, events.back().reason);
  }
  step::follow_structure(*model);
  return model;
}

}  // namespace esper::engine::bench
