#pragma once
// A small model that grows by command, its steps run in one lane.

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "kasmina/network/network_seeds.h"
#include "lanes/step_runner.h"
#include "step/probe.h"
#include "support/models/lane_cases.h"
#include "tolaria/growth/apply_command.h"

namespace esper::tests {

// An mlp with three slots whose gates let every seed pass that lived an epoch in each stage.
inline LaneCase growing_case() {
  LaneCase c = lane_case("growing", config::HostKind::kMlp, leyline::features_shape(12, 5), 8);
  c.config.host.hidden = {10, 9, 12};
  c.config.training.optimizer.kind = config::OptimizerKind::kAdamw;
  c.config.training.optimizer.lr = 1e-3;
  c.config.training.ema_decay = 0.9;
  auto& growth = c.config.growth;
  growth.alpha_ticks = 4;
  growth.embargo_epochs = 1;
  growth.gates.min_training_epochs = growth.gates.min_blending_epochs = 1;
  growth.gates.min_improvement_points = growth.gates.min_contribution_points = -100;
  growth.gates.min_gradient_ratio = 0;
  growth.gates.max_shadow_drop_points = 100;
  growth.training = config::SeedTraining::kStraightThrough;
  growth.isolate = true;
  return c;
}

// The same with a transformer whose two layers may be copied.
inline LaneCase growing_decoder_case(double dropout) {
  LaneCase c = growing_case();
  c.sample = leyline::tokens_shape(8, 11);
  c.config.host = {};
  c.config.host.kind = config::HostKind::kTransformer;
  c.config.host.layers = c.config.host.segments = 2;
  c.config.host.embedding = 16;
  c.config.host.heads = 2;
  c.config.host.dropout = dropout;
  c.config.growth.blueprints = {"copy_block", "copy_block_plain"};
  return c;
}

// The same with a cnn whose two residual blocks may be copied.
inline LaneCase growing_residual_case() {
  LaneCase c = growing_case();
  c.sample = leyline::image_shape(2, 6, 6, 5);
  c.config.host = {};
  c.config.host.kind = config::HostKind::kCnn;
  c.config.host.blocks = 2;
  c.config.host.pool_layers = c.config.host.residual_blocks = 1;
  c.config.host.base_channels = 4;
  c.config.growth.blueprints = {"copy_block", "copy_block_plain"};
  return c;
}

// The mlp, or a cnn whose batch norm has statistics, where blocks may be widened.
inline LaneCase growing_wide_case(config::HostKind kind = config::HostKind::kMlp) {
  LaneCase c = growing_case();
  if (kind == config::HostKind::kCnn) {
    c.sample = leyline::image_shape(2, 6, 6, 5);
    c.config.host = {};
    c.config.host.kind = kind;
    c.config.host.blocks = 3;
    c.config.host.base_channels = 4;
    c.config.host.pool_layers = 1;
  }
  c.config.growth.blueprints = {"widen", "widen_half"};
  return c;
}

inline torch::Tensor probe_of(const LaneCase& c) {
  const auto generator = at::detail::createCPUGenerator(5);
  if (c.sample.kind == leyline::SampleKind::kImage) {
    return at::randn({4, c.sample.channels, c.sample.height, c.sample.width}, generator);
  }
  if (c.sample.kind == leyline::SampleKind::kFeatures) return at::randn({4, c.sample.features}, generator);
  return at::randint(c.sample.num_classes, {4, c.sample.context}, generator, torch::kInt64);
}

class GrowingModel {
 public:
  // desk: for the compiled lane.
  explicit GrowingModel(const LaneCase& of = growing_case(), config::Lane lane = config::Lane::kEager,
                        torch::Device device = torch::kCPU, program::CompileService* compile_service = nullptr)
      : c(of), model(make_model(of, device)), device_(device) {
    config::StepConfig config;
    config.lane = lane;
    config.check_every = 0;
    runner = std::make_unique<lanes::StepRunner>(
        *model, config, device,
        lanes::RunnerServices{
            compile_service, nullptr, {}, [this](leyline::TelemetryEvent told) { events.push_back(told); }});
  }

  void steps(int count) {
    for (int i = 0; i < count; ++i) {
      auto batches = make_batches(c, c.config.step.accumulation, static_cast<std::uint64_t>(number) + 100);
      for (auto& batch : batches) {
        batch.inputs = batch.inputs.to(device_);
        batch.targets = batch.targets.to(device_);
      }
      step::probe_attribution(*model, batches);
      runner->step(batches, {number, 1000});
      ++number;
    }
  }

  leyline::AdaptationCommand command(leyline::SeedOperation operation, const std::string& seed_id) {
    leyline::AdaptationCommand made;
    made.command_id = std::to_string(++commands);
    made.command_type = leyline::CommandType::kSeed;
    made.target_seed_id = seed_id;
    made.seed_operation.emplace();
    made.seed_operation->operation = operation;
    return made;
  }
  leyline::AdaptationCommand germination(const std::string& slot, const std::string& blueprint) {
    auto made = command(leyline::SeedOperation::kGerminate, "");
    made.seed_operation->slot = slot;
    made.seed_operation->blueprint_id = blueprint;
    return made;
  }
  tolaria::AppliedCommand apply(const leyline::AdaptationCommand& wanted, std::optional<std::uint64_t> disk_room = {}) {
    auto done = tolaria::apply_command(*model, wanted, probe.to(device_), 1, disk_room);
    step::follow_training_gates(*model);
    return done;
  }
  static bool refused(const tolaria::AppliedCommand& done) {
    return done.events.back().kind == kasmina::LifecycleEvent::Kind::kCommandRejected;
  }

  // An epoch in which every seed shows what every gate wants.
  kasmina::EpochFacts good_facts() {
    kasmina::EpochFacts facts;
    facts.epoch = ++epochs;
    facts.validation_loss = 0.5;
    facts.validation_accuracy = 0.8;
    facts.host_gradient_norm = 1;
    for (const auto& seed : kasmina::export_seed_states(model->network.state()))
      facts.seeds.push_back({seed.seed_id, 1.0, 0.7, 0.9});
    return facts;
  }
  std::vector<kasmina::LifecycleEvent> end_epoch(const kasmina::EpochFacts& facts) {
    const auto version = model->network.structure_version();
    auto happened = model->network.end_epoch(facts).events;
    if (model->network.structure_version() != version) step::follow_structure(*model);
    step::follow_training_gates(*model);
    return happened;
  }

  leyline::Stage stage(const std::string& seed_id) const {
    for (const auto& seed : kasmina::export_seed_states(model->network.state())) {
      if (seed.seed_id == seed_id) return seed.stage;
    }
    return leyline::Stage::kUnknown;
  }

  LaneCase c;
  std::unique_ptr<step::Model> model;
  std::vector<leyline::TelemetryEvent> events;
  std::unique_ptr<lanes::StepRunner> runner;
  torch::Tensor probe = probe_of(c);
  std::int64_t number = 0;
  int commands = 0;
  std::uint32_t epochs = 0;

 private:
  torch::Device device_;
};

// Every tensor of a model by id, as it is now.
inline std::map<std::string, torch::Tensor> copies_of(const step::Model& model) {
  std::map<std::string, torch::Tensor> copies;
  for (const auto& [id, tensor] : step::all_tensors(model, torch::kCPU)) copies[id] = tensor.detach().clone();
  return copies;
}

// From here on steps move nothing but moments, which begin at zero; the seed's parameters move away from their birth by
// draws of this standard deviation.
inline void move_only_moments(GrowingModel& grown, double spread) {
  const at::NoGradGuard no_grad;
  at::manual_seed(8);
  for (const auto& [id, tensor] : step::named_tensors(grown.model->state)) {
    if (id.starts_with("seed-0001.")) torch::Tensor(tensor).add_(at::randn(tensor.sizes()), spread);
    if (id.starts_with("optimizer.exp_avg") || id.starts_with("optimizer.momentum")) torch::Tensor(tensor).zero_();
  }
  step::set_learning_rate(grown.model->state, 0);
}

// The first tensor that only one has or that is not equal; empty if there is none.
inline std::string first_difference(const std::map<std::string, torch::Tensor>& a,
                                    const std::map<std::string, torch::Tensor>& b) {
  for (const auto& [id, tensor] : a) {
    if (!b.contains(id) || !at::equal(tensor, b.at(id))) return id;
  }
  for (const auto& [id, tensor] : b) {
    if (!a.contains(id)) return id;
  }
  return {};
}

}  // namespace esper::tests
