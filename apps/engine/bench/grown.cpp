#include "engine/bench/grown.h"

#include <torch/types.h>

#include "leyline/error.h"

namespace esper::engine::bench {
namespace {

leyline::RunConfig with_four_slots(leyline::RunConfig config) {
  config.host.blocks = kMostSeeds;
  config.host.pool_layers = kMostSeeds - 1;
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

std::unique_ptr<tolaria::Model> grown_model(const Workload& workload, int seeds,
                                            const leyline::AggregationConfig& aggregation) {
  const auto& bench = workload.bench;
  tolaria::StepSettings settings = bench.settings;
  settings.aggregation.config = aggregation;
  auto model = tolaria::build_model(with_four_slots(bench.config), bench.data.train.shape, settings, bench.device);
  const auto slots = model->network.export_slots();
  for (int i = 0; i < seeds; ++i) {
    model->network.apply(germinate(slots.at(static_cast<std::size_t>(i))), workload.steps.front().front().inputs);
  }
  ESPER_CHECK(model->network.export_seed_states().size() == static_cast<std::size_t>(seeds), "a seed did not grow");
  tolaria::follow_structure(*model);
  return model;
}

}  // namespace esper::engine::bench
