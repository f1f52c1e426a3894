// Seeds that train in the shadow of the network, compared with networks that are built explicitly: the seed's gradient
// with the network that has it at alpha 1, everything of the host with the network that has no seed.

#include <torch/csrc/autograd/autograd.h>

#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <cmath>
#include <map>
#include <nlohmann/json.hpp>

#include "device/precision.h"
#include "step/train_step.h"
#include "support/models/training_model.h"

namespace esper::tests::train_step_shadow_test {
namespace {

using config::Attribution;
using config::SeedTraining;
using step::Microbatch;
using step::Model;

using Batches = std::vector<Microbatch>;

void run_step(Model& model, const Batches& batches) {
  step::train_step(model.state, model.settings, batches, step::training_forward(model.network));
}

std::string seed_id(std::size_t index) { return fmt::format("seed-{:04}", index + 1); }

const step::GroupState& group_of(const Model& model, const std::string& id) {
  for (const auto& group : model.state.groups) {
    if (group.id == id) return group;
  }
  FAIL("no group " << id);
  return model.state.groups.front();
}

// The gradient of the step's loss into one seed, through a network that has this seed at alpha 1 and no other.
torch::Tensor at_full_alpha(const LaneCase& c, int seeds, std::size_t seed, const Batches& batches) {
  constexpr double kScale = 128;  // for short types
  const auto model = training_model(with_training(c, SeedTraining::kStraightThrough), seeds);
  {
    const torch::NoGradGuard no_grad;
    for (const auto& [id, scalar] : model->network.scalars()) {
      if (id.ends_with(".straight_through")) torch::Tensor(scalar).fill_(0);
      if (id == seed_id(seed) + ".alpha") torch::Tensor(scalar).fill_(1);
    }
  }
  const auto& parameters = group_of(*model, seed_id(seed)).parameters.views;
  std::int64_t num_targets = 0;
  for (const auto& batch : batches) num_targets += batch.targets.numel();
  torch::Tensor sum;
  for (const auto& [inputs, targets, goes_on] : batches) {
    const at::AutoGradMode with_grad(true);
    torch::Tensor logits;
    {
      const device::AutocastScope autocast(torch::kCPU, c.compute);
      logits = model->network.forward(inputs, kasmina::Mode::kTrain);
    }
    const auto loss = at::cross_entropy_loss(logits.flatten(0, -2).to(torch::kFloat32), targets.flatten(), {},
                                             at::Reduction::Sum, -100, c.config.training.label_smoothing);
    std::vector<torch::Tensor> flat;
    for (const auto& gradient : torch::autograd::grad({loss * (kScale / static_cast<double>(num_targets))}, parameters))
      flat.push_back(gradient.flatten());
    const auto gradient = at::cat(flat).div(kScale);
    sum = sum.defined() ? sum + gradient : gradient;
  }
  return sum;
}

void fill_scales(const Model& model, double scale) {
  if (!model.state.loss_scale.enabled()) return;
  torch::Tensor(model.state.loss_scale.scale).fill_(scale);
  for (const auto& group : model.state.groups) {
    if (group.loss_scale.enabled()) torch::Tensor(group.loss_scale.scale).fill_(scale);
  }
}

double difference(const torch::Tensor& found, const torch::Tensor& expected) {
  return (found - expected).abs().max().div(expected.abs().max()).item<double>();
}

void check_seed_gradients(const LaneCase& c, int seeds, int accumulation, double tolerance) {
  const auto model = training_model(in_shadow(c), seeds);
  fill_scales(*model, 128);
  const auto batches = make_batches(c, accumulation);
  run_step(*model, batches);
  for (std::size_t seed = 0; seed < static_cast<std::size_t>(seeds); ++seed) {
    INFO(c.name << ", seed " << seed);
    const auto expected = at_full_alpha(c, seeds, seed, batches);
    REQUIRE(expected.abs().max().item<double>() > 0);
    CHECK(difference(group_of(*model, seed_id(seed)).gradients.flat, expected) < tolerance);
  }
}

std::map<std::string, torch::Tensor> host_tensors(const Model& model) {
  std::map<std::string, torch::Tensor> all;
  for (const auto& [id, tensor] : step::named_tensors(model.state)) {
    if (id.starts_with("host.")) all[id] = tensor;
  }
  for (const auto& [id, tensor] : model.network.buffers()) all[id] = tensor;
  all["gradient"] = group_of(model, "host").gradients.flat;
  return all;
}

void check_same_host(const Model& found, const Model& expected) {
  const auto with = host_tensors(found), without = host_tensors(expected);
  REQUIRE(with.size() == without.size());
  for (const auto& [id, tensor] : without) {
    INFO(id);
    CHECK(at::equal(with.at(id), tensor));
  }
}

}  // namespace

TEST_CASE("a seed in the shadow gets the gradient of the network with it at alpha 1") {
  at::set_num_threads(1);
  for (LaneCase c : growing_cases()) {
    c.config.training.label_smoothing = 0.1;
    check_seed_gradients(c, 2, 2, 1e-4);
  }
}

TEST_CASE("so it does under autocast and a loss scale") {
  at::set_num_threads(1);
  for (const auto compute : {torch::kBFloat16, torch::kHalf}) {
    LaneCase c = growing_cases().front();
    c.compute = compute;
    check_seed_gradients(c, 2, 1, 0.03);
  }
}

TEST_CASE("so it does in every composition") {
  at::set_num_threads(1);
  using config::Composition;
  for (const auto composition : {Composition::kConvex, Composition::kResidual, Composition::kMultiply,
                                 Composition::kGate, Composition::kChannel, Composition::kConfidence}) {
    CAPTURE(static_cast<int>(composition));
    LaneCase c = growing_cases().front();
    c.config.growth.composition = composition;
    check_seed_gradients(c, 1, 1, 1e-4);
  }
}

TEST_CASE("with gradient surgery on the host a seed in the shadow gets the plain sum") {
  at::set_num_threads(1);
  for (const auto attribution : {Attribution::kApprox, Attribution::kDataloader}) {
    LaneCase c = growing_cases().front();
    c.config.growth.aggregation.attribution = attribution;
    if (attribution == Attribution::kDataloader) c.config.growth.aggregation.classes = {"r0c0=0,1", "r0c1=2"};
    check_seed_gradients(c, 3, 4, 1e-4);
  }
}

TEST_CASE("a seed in the shadow leaves the host's step as it is without the seed, bit for bit, whatever is measured") {
  at::set_num_threads(1);
  for (LaneCase c : growing_cases()) {
    for (const bool figures : {true, false}) {
      c.config.growth.aggregation.seed_figures = figures;
      c.config.training.ema_decay = 0.9;
      CAPTURE(c.name, figures);
      const auto alone = make_model(c), grown = training_model(in_shadow(c), 2);
      for (std::uint64_t step = 0; step < 3; ++step) {
        const auto batches = make_batches(c, 2, step);
        run_step(*alone, batches);
        run_step(*grown, batches);
        check_same_host(*grown, *alone);
      }
      const auto without = step::read_metrics(alone->state), with = step::read_metrics(grown->state);
      CHECK(with.loss == without.loss);
      CHECK(with.accuracy == without.accuracy);
      CHECK(with.samples == without.samples);
      for (const auto& [id, seed] : with.seeds) CHECK(seed.isolation_violations == 0);
      for (std::size_t seed = 0; seed < 2; ++seed) CHECK(with.group_gradient_norms.at(seed_id(seed)) > 0);
    }
  }
}

TEST_CASE("a seed in the shadow whose gradient overflows skips its own step, and nobody else's") {
  at::set_num_threads(1);
  LaneCase c = growing_cases().front();
  c.compute = torch::kHalf;
  c.config.training.optimizer.kind = config::OptimizerKind::kAdamw;
  c.config.training.ema_decay = 0.9;
  const auto alone = make_model(c), grown = training_model(in_shadow(c), 2), calm = training_model(in_shadow(c), 2);
  for (auto* model : {alone.get(), grown.get(), calm.get()}) fill_scales(*model, 128);
  const double scale = std::ldexp(1.0, 40);  // far beyond the range of halves
  torch::Tensor(group_of(*grown, seed_id(0)).loss_scale.scale).fill_(scale);
  const auto before = group_of(*grown, seed_id(0)).parameters.flat.clone();
  const auto average = group_of(*grown, seed_id(0)).averages.flat.clone();
  const auto batches = make_batches(c, 2);
  for (auto* model : {alone.get(), grown.get(), calm.get()}) run_step(*model, batches);
  check_same_host(*grown, *alone);
  CHECK(grown->state.loss_scale.scale.item<double>() == 128);
  const auto& skipped = group_of(*grown, seed_id(0));
  CHECK(at::equal(skipped.parameters.flat, before));
  CHECK(at::equal(skipped.averages.flat, average));
  CHECK(skipped.first_moments.flat.abs().max().item<double>() == 0);
  CHECK(skipped.step.item<double>() == 0);
  CHECK(skipped.loss_scale.scale.item<double>() == scale / 2);
  CHECK(group_of(*calm, seed_id(0)).step.item<double>() == 1);
  CHECK_FALSE(at::equal(group_of(*calm, seed_id(0)).parameters.flat, before));
  CHECK(group_of(*grown, seed_id(1)).step.item<double>() == 1);
  const auto metrics = step::read_metrics(grown->state);
  CHECK(metrics.nonfinite_steps == 0);
  CHECK(metrics.gradient_norm > 0);
  CHECK(metrics.loss_scale == 128);
  CHECK(metrics.seed_loss_scales == std::map<std::string, double>{{seed_id(0), scale / 2}, {seed_id(1), 128}});
}

TEST_CASE("a step that overflows in the host leaves a seed in the shadow its own") {
  at::set_num_threads(1);
  LaneCase c = growing_cases().front();
  c.compute = torch::kHalf;
  const auto grown = training_model(in_shadow(c), 1);
  fill_scales(*grown, 128);
  grown->state.loss_scale.scale.fill_(std::ldexp(1.0, 40));
  const auto host = group_of(*grown, "host").parameters.flat.clone();
  const auto seed = group_of(*grown, seed_id(0)).parameters.flat.clone();
  run_step(*grown, make_batches(c, 1));
  CHECK(at::equal(group_of(*grown, "host").parameters.flat, host));
  CHECK_FALSE(at::equal(group_of(*grown, seed_id(0)).parameters.flat, seed));
  CHECK(group_of(*grown, seed_id(0)).loss_scale.scale.item<double>() == 128);
}

TEST_CASE("a shadow draws no random numbers, so that the host trains with those it would draw alone") {
  at::set_num_threads(1);
  for (const std::size_t kind : {0U, 2U}) {  // those that can have dropout
    LaneCase c = growing_cases().at(kind);
    c.config.host.dropout = 0.3;
    CAPTURE(c.name);
    const auto alone = make_model(c), grown = training_model(in_shadow(c), 1);
    std::vector<torch::Tensor> drawn_next;
    for (auto* model : {alone.get(), grown.get()}) {
      at::manual_seed(5);
      for (std::uint64_t step = 0; step < 3; ++step) run_step(*model, make_batches(c, 2, step));
      drawn_next.push_back(at::rand({4}));
    }
    check_same_host(*grown, *alone);
    CHECK(drawn_next[0].equal(drawn_next[1]));
  }
}

TEST_CASE("a run that is resumed while a seed trains in the shadow goes on bit for bit") {
  at::set_num_threads(1);
  LaneCase c = in_shadow(growing_cases().front());
  c.compute = GENERATE(torch::kFloat32, torch::kHalf);
  c.config.host.dropout = 0.3;
  c.config.training.optimizer.kind = config::OptimizerKind::kAdamw;
  std::vector<Batches> steps;
  for (std::uint64_t step = 0; step < 6; ++step) steps.push_back(make_batches(c, 2, step));
  const auto through = training_model(c, 2);
  for (std::size_t step = 0; step < 3; ++step) run_step(*through, steps[step]);
  const auto topology = through->network.save_topology();
  std::vector<kasmina::NamedTensor> saved;
  for (const auto& [id, tensor] : step::all_tensors(*through, torch::kCPU)) {
    saved.push_back({id, tensor.detach().clone()});
  }
  for (std::size_t step = 3; step < 6; ++step) run_step(*through, steps[step]);
  const auto resumed = make_model(c);
  REQUIRE(step::restore_model(*resumed, topology, saved, torch::kCPU));
  for (std::size_t step = 3; step < 6; ++step) run_step(*resumed, steps[step]);
  const auto expected = step::all_tensors(*through, torch::kCPU), found = step::all_tensors(*resumed, torch::kCPU);
  REQUIRE(found.size() == expected.size());
  for (std::size_t i = 0; i < expected.size(); ++i) {
    INFO(expected[i].id);
    CHECK(at::equal(found[i].tensor, expected[i].tensor));
  }
}

}  // namespace esper::tests::train_step_shadow_test
