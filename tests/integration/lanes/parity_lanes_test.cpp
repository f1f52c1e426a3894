// The compiled lane does what eager does: on every kind of network, optimizer and precision.
#include <catch2/catch_test_macros.hpp>
#include <cmath>
#include <cstdio>
#include <iostream>

#include "integration/lanes/lane_room.h"
#include "support/models/grown_model.h"

namespace esper::test::parity_lanes_test {

using namespace esper;
using namespace esper::tests;
using config::HostKind;
using config::Lane;
using config::OptimizerKind;

namespace {

struct ParityCase {
  LaneCase lane;
  int accumulation = 1;
  int steps = 0;
  int seeds = 0;  // grown into it
};

enum class Clip { kOff, kOn };

LaneCase network(HostKind kind) {
  switch (kind) {
    case HostKind::kLinear:
      return lane_case("linear", kind, leyline::features_shape(16, 4), 4);
    case HostKind::kMlp: {
      LaneCase mlp = lane_case("mlp", kind, leyline::features_shape(32, 8), 16);
      mlp.config.host.hidden = {32, 32};
      return mlp;
    }
    case HostKind::kCnn: {
      LaneCase cnn = lane_case("cnn", kind, leyline::image_shape(1, 16, 16, 10), 16);
      cnn.config.host.blocks = cnn.config.host.pool_layers = 2;
      cnn.config.host.base_channels = 8;
      return cnn;
    }
    case HostKind::kTransformer:
    case HostKind::kExported:
      break;
  }
  LaneCase transformer = lane_case("transformer", HostKind::kTransformer, leyline::tokens_shape(16, 32), 4);
  transformer.config.host.layers = 1;
  transformer.config.host.segments = 1;
  transformer.config.host.embedding = 32;
  transformer.config.host.heads = 4;
  return transformer;
}

ParityCase parity_case(HostKind kind, OptimizerKind optimizer, torch::ScalarType type, int accumulation, Clip clip) {
  ParityCase c{network(kind), accumulation, kind == HostKind::kLinear || kind == HostKind::kMlp ? 200 : 10};
  auto& training = c.lane.config.training;
  training.optimizer.kind = optimizer;
  training.optimizer.momentum = 0.9;
  if (optimizer == OptimizerKind::kAdamw) {
    training.optimizer.lr = 1e-3;
    training.optimizer.weight_decay = 0.01;
  }
  if (clip == Clip::kOn) training.clip_norm = 0.5;
  c.lane.compute = type;
  c.lane.name += std::string(optimizer == OptimizerKind::kAdamw ? " adamw" : " sgd") +
                 (type == torch::kFloat32 ? " fp32" : " bf16") + " accumulation " + std::to_string(accumulation) +
                 (clip == Clip::kOn ? " clip" : "");
  return c;
}

// Every value of every factor with every kind of network, and most pairs of values.
std::vector<ParityCase> parity_cases() {
  using H = HostKind;
  constexpr auto kSgd = OptimizerKind::kSgd, kAdamw = OptimizerKind::kAdamw;
  constexpr auto kFp32 = torch::kFloat32, kBf16 = torch::kBFloat16;
  return {parity_case(H::kLinear, kSgd, kFp32, 1, Clip::kOff),
          parity_case(H::kLinear, kAdamw, kBf16, 3, Clip::kOn),
          parity_case(H::kMlp, kAdamw, kFp32, 1, Clip::kOn),
          parity_case(H::kMlp, kSgd, kBf16, 3, Clip::kOff),
          parity_case(H::kCnn, kSgd, kFp32, 1, Clip::kOff),
          parity_case(H::kCnn, kAdamw, kBf16, 2, Clip::kOn),
          parity_case(H::kTransformer, kAdamw, kFp32, 2, Clip::kOn),
          parity_case(H::kTransformer, kSgd, kBf16, 1, Clip::kOff)};
}

struct Lanes {
  Lanes(const ParityCase& c, Lane kind)
      : model(c.seeds > 0 ? grown_model(c.lane, c.seeds) : make_model(c.lane)),
        lane(lanes::prepare_lane(*model, kind, make_batches(c.lane, c.accumulation), &persistent_compile_service())) {
    INFO(c.lane.name << ": " << lane.refusal);
    REQUIRE(lane.refusal.empty());
  }
  std::unique_ptr<step::Model> model;
  lanes::PreparedLane lane;
};

// Three seeds whose gradients are held against each other.
ParityCase surgery_case() {
  ParityCase c{grown_case(), 2, 50, 3};
  c.lane.name = "mlp with three seeds, gradient surgery";
  c.lane.batch = 2;
  c.lane.config.growth.aggregation.attribution = config::Attribution::kApprox;
  return c;
}

struct Named {
  std::string id;
  torch::Tensor tensor;
};

std::vector<Named> tensors_of(const step::Model& model) {
  std::vector<Named> all;
  for (const auto& [id, tensor] : step::named_tensors(model.state)) all.push_back({id, tensor});
  for (const auto& [id, tensor] : model.network.buffers()) all.push_back({id, tensor});
  return all;
}

// Largest error relative to the tensor's largest magnitude.
double error_of(const torch::Tensor& expected, const torch::Tensor& actual) {
  if (expected.numel() == 0) return 0;
  const auto wanted = expected.detach().to(torch::kFloat64), got = actual.detach().to(torch::kFloat64);
  const double difference = got.sub(wanted).abs().max().item<double>();
  if (difference == 0) return 0;
  const double largest = wanted.abs().max().item<double>();
  return std::isfinite(difference) ? difference / std::max(largest, 1e-30) : INFINITY;
}

struct Worst {
  std::string tensor;
  double error = 0;
  std::string lines;  // one per tensor
};

Worst worst_of(const step::Model& expected, const step::Model& actual) {
  Worst worst;
  const auto wanted = tensors_of(expected), got = tensors_of(actual);
  REQUIRE(wanted.size() == got.size());
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    REQUIRE(wanted[i].id == got[i].id);
    const double error = error_of(wanted[i].tensor, got[i].tensor);
    char line[160];
    std::snprintf(line, sizeof line, "  %-56s %.1e\n", wanted[i].id.c_str(), error);
    worst.lines += line;
    if (error > worst.error) worst.tensor = wanted[i].id, worst.error = error;
  }
  return worst;
}

bool is_verbose() {
  const char* asked = std::getenv("ESPER_VERBOSE");
  return asked != nullptr && *asked == '1';
}

// float32: a few roundings, and what AdamW makes of a gradient that is nothing but rounding (a key's bias). bf16: the
// compiled step keeps more digits between operators than eager does, so the two may be as far apart as eager is from
// the same steps in float32.
double tolerance_of(const ParityCase& c, double eager_rounding) {
  if (c.lane.compute == torch::kBFloat16) return 2 * eager_rounding;
  return c.lane.config.training.optimizer.kind == OptimizerKind::kAdamw ? 1e-3 : 5e-5;
}

void check_parity(const ParityCase& c) {
  ParityCase precise = c;
  precise.lane.compute = torch::kFloat32;
  const Lanes eager(c, Lane::kEager), compiled(c, Lane::kCompiled), reference(precise, Lane::kEager);
  for (int step = 0; step < c.steps; ++step) {
    const auto batches = make_batches(c.lane, c.accumulation, static_cast<std::uint64_t>(step) + 10);
    for (const auto* lane : {&eager, &compiled, &reference}) lane->lane.step(batches);
  }
  const Worst worst = worst_of(*eager.model, *compiled.model);
  const double tolerance = tolerance_of(c, worst_of(*reference.model, *eager.model).error);
  std::printf("%-45s %3d steps: worst %.1e of %.1e in %s (%s)\n", c.lane.name.c_str(), c.steps, worst.error, tolerance,
              worst.tensor.c_str(), compiled.lane.recipe.c_str());
  if (worst.error > tolerance || is_verbose()) std::cout << worst.lines;
  INFO(c.lane.name);
  CHECK(worst.error <= tolerance);
}

std::vector<step::Microbatch> perturbed(std::vector<step::Microbatch> batches) {
  for (auto& batch : batches) batch.inputs = batch.inputs.mul(at::randn_like(batch.inputs).mul_(1e-7).add_(1));
  return batches;
}

// How far the compiled lane is from eager after many steps, against how far eager is from itself when the inputs of
// the first step change by one part in ten million. Large enough that a sign or a maximum flips in most runs: one flip
// is what makes two runs part.
void check_drift(const LaneCase& network_of_many, int steps) {
  const ParityCase c{network_of_many, 1, steps};
  const Lanes eager(c, Lane::kEager), compiled(c, Lane::kCompiled), first(c, Lane::kEager), second(c, Lane::kEager);
  for (int step = 0; step < steps; ++step) {
    const auto batches = make_batches(c.lane, 1, static_cast<std::uint64_t>(step) + 10);
    eager.lane.step(batches);
    compiled.lane.step(batches);
    for (const auto* other : {&first, &second}) other->lane.step(step == 0 ? perturbed(batches) : batches);
  }
  const double own = std::max(worst_of(*eager.model, *first.model).error, worst_of(*eager.model, *second.model).error);
  const double drift = worst_of(*eager.model, *compiled.model).error;
  std::printf("%-45s %3d steps: drift %.1e, of eager perturbed %.1e\n", c.lane.name.c_str(), steps, drift, own);
  REQUIRE(own > 0);
  CHECK(drift <= 10 * own);
}

// One step from the compiled lane's own state, again and again: what one step differs by stays rounding however long
// the run is.
void check_every_step(const ParityCase& c, int steps, double tolerance) {
  const Lanes eager(c, Lane::kEager), compiled(c, Lane::kCompiled);
  for (int step = 0; step < steps; ++step) {
    const auto from = tensors_of(*compiled.model), to = tensors_of(*eager.model);
    for (std::size_t i = 0; i < from.size(); ++i) to[i].tensor.detach().copy_(from[i].tensor.detach());
    const auto batches = make_batches(c.lane, c.accumulation, static_cast<std::uint64_t>(step) + 10);
    eager.lane.step(batches);
    compiled.lane.step(batches);
    const Worst worst = worst_of(*eager.model, *compiled.model);
    INFO(c.lane.name << ", step " << step << ": " << worst.tensor << "\n" << worst.lines);
    REQUIRE(worst.error <= tolerance);
  }
}

}  // namespace

TEST_CASE("the compiled lane equals eager on every kind of network, optimizer, precision and accumulation") {
  test::need_python_with_torch();
  at::set_num_threads(1);
  for (const ParityCase& c : parity_cases()) check_parity(c);
}

TEST_CASE("gradient surgery between seeds compiles to what eager does") {
  test::need_python_with_torch();
  at::set_num_threads(1);
  check_parity(surgery_case());
}

TEST_CASE("over many steps the compiled lane drifts from eager no more than the network's own sensitivity explains") {
  test::need_python_with_torch();
  at::set_num_threads(1);
  LaneCase cnn = lane_case("cnn sgd fp32, batch 64", HostKind::kCnn, leyline::image_shape(1, 28, 28, 10), 64);
  cnn.config.host.blocks = cnn.config.host.pool_layers = 2;
  cnn.config.host.base_channels = 16;
  cnn.config.training.optimizer.momentum = 0.9;
  check_drift(cnn, 100);
}

TEST_CASE("no single step of a hundred differs from eager by more than rounding") {
  test::need_python_with_torch();
  at::set_num_threads(1);
  check_every_step(parity_case(HostKind::kCnn, OptimizerKind::kSgd, torch::kFloat32, 1, Clip::kOff), 100, 5e-5);
  check_every_step(parity_case(HostKind::kMlp, OptimizerKind::kAdamw, torch::kFloat32, 1, Clip::kOn), 100, 5e-5);
}

}  // namespace esper::test::parity_lanes_test
