#include "engine/bench/grown.h"

#include <torch/types.h>

#include "base/error.h"

namespace esper::engine::bench {
namespace {

constexpr int kPoolLayers = 2;  // no module with a 3 x 3 convolution grows where a single pixel is left

config::RunConfig with_four_slots(config::RunConfig config) {
  config.host.blocks = kMostSeeds;
  config.host.pool_layers = kPoolLayers;
  config.growth.max_seeds = kMostSeeds;
  return config;
}

leyline::AdaptationCommand germinate(const leyline::SlotState& slot) {
  leyline::AdaptationCommand command;
  command.command_id = slot.slot;
  command.command_type = leyline::CommandType::kSeed;
  command.seed_operation.emplace();
  command.seed_operation->operation = leyline::SeedOperation::kGerminate;
  command.seed_operation->slot = slot.slot;
  command.seed_operation->blueprint_id = slot.blueprints.front();
  return command;
}

}  // namespace

std::unique_ptr<step::Model> grown_model(const Workload& workload, int seeds,
                                         const config::AggregationConfig& aggregation) {
  const auto& bench = workload.bench;
  step::StepSettings settings = bench.settings;
  settings.aggregation.config = aggregation;
  auto model = step::build_model(with_four_slots(bench.config), bench.data.train.shape, settings, bench.device);
  const auto slots = model->network.export_slots();
  for (int i = 0; i < seeds; ++i) {
    model->network.apply(germinate(slots.at(static_cast<std::size_t>(i))), workload.steps.front().front().inputs);
  }
  ESPER_CHECK(model->network.export_seed_states().size() == static_cast<std::size_t>(seeds), "a seed did not grow");
  step::follow_structure(*model);
  return model;
}

}  // namespace esper::engine::bench
