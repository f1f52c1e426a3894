#include "step/aggregation.h"

#include <torch/csrc/autograd/autograd.h>

#include <catch2/catch_test_macros.hpp>

#include "base/error.h"
#include "kasmina/network/alpha_override.h"
#include "step/gradients/attribution.h"
#include "step/gradients/gradient_surgery.h"
#include "step/probe.h"
#include "support/models/grown_model.h"

namespace esper::tests::aggregation_test {
namespace {

using config::Attribution;
using config::GradientSurgery;
using step::Microbatch;
using step::Model;
using step::StepMetrics;

constexpr int kMicrobatches = 3;  // of a whole step

LaneCase with_attribution(Attribution attribution) {
  LaneCase c = grown_case();
  c.batch = 1;  // gradients of single samples differ enough to conflict
  c.config.step.accumulation = kMicrobatches;
  c.config.growth.aggregation.attribution = attribution;
  if (attribution == Attribution::kDataloader) c.config.growth.aggregation.classes = {"r0c0=0,1", "r0c1=2"};
  return c;
}

void run_step(Model& model, const std::vector<Microbatch>& batches) {
  step::train_step(model.state, model.settings, batches, step::training_forward(model.network));
}

// What one microbatch gives by itself: the flat gradient of its part of the mean loss, and each seed's score.
struct Alone {
  torch::Tensor gradient;
  std::vector<double> scores;
};

Alone alone(const Model& model, const Microbatch& batch, std::int64_t num_targets) {
  const at::AutoGradMode with_grad(true);
  torch::Tensor logits;
  const auto taps = model.network.tap(batch.inputs, kasmina::Mode::kTrain, logits);
  const torch::Tensor loss =
      at::cross_entropy_loss(logits, batch.targets, {}, at::Reduction::Sum) / static_cast<double>(num_targets);
  std::vector<torch::Tensor> sources = model.state.parameters;
  for (const auto& tap : taps) sources.push_back(tap.output);
  const auto gradients = torch::autograd::grad({loss}, sources);
  std::vector<torch::Tensor> flat;
  for (std::size_t i = 0; i < model.state.parameters.size(); ++i) flat.push_back(gradients[i].flatten());
  Alone result{at::cat(flat), {}};
  for (std::size_t i = 0; i < taps.size(); ++i) {
    const auto& gradient = gradients[model.state.parameters.size() + i];
    result.scores.push_back(std::abs(gradient.mul(taps[i].change).sum().item<double>()));
  }
  return result;
}

// 1 where the host owns the element.
torch::Tensor host_mask(const Model& model) {
  std::vector<torch::Tensor> parts;
  for (const auto& group : model.state.groups) {
    parts.push_back(at::full({group.parameters.flat.numel()}, group.owner == "host" ? 1.0 : 0.0, at::kDouble));
  }
  return at::cat(parts);
}

// The step's gradient as the definition in aggregation.h has it, vector by vector.
torch::Tensor by_definition(const std::vector<torch::Tensor>& gradients, const torch::Tensor& shares,
                            const torch::Tensor& mask, const torch::Tensor& order) {
  const torch::Tensor all = at::stack(gradients).to(at::kDouble);
  const torch::Tensor vectors = at::mm(shares.t().to(at::kDouble), all * mask);
  std::vector<torch::Tensor> operated;
  for (std::int64_t s = 0; s < vectors.size(0); ++s) {
    torch::Tensor own = vectors[s].clone();
    for (std::int64_t k = 0; k < order.size(1); ++k) {
      const torch::Tensor other = vectors[order[s][k].item<std::int64_t>()];
      const double product = own.dot(other).item<double>();
      if (product < 0) own = own - product / other.dot(other).item<double>() * other;
    }
    operated.push_back(own);
  }
  return at::stack(operated).sum(0) + all.sum(0) * (1 - mask);
}

double difference(const torch::Tensor& a, const torch::Tensor& b) {
  const torch::Tensor wide = b.to(at::kDouble);
  return (a.to(at::kDouble) - wide).abs().max().div(wide.abs().max()).item<double>();
}

}  // namespace

TEST_CASE("the host's gradient after surgery is the definition's, vector by vector") {
  int conflicts = 0;
  for (const Attribution attribution : {Attribution::kApprox, Attribution::kDataloader}) {
    const LaneCase c = with_attribution(attribution);
    const auto model = grown_model(c, 3);
    for (std::uint64_t round = 0; round < 6; ++round) {
      const auto batches = make_batches(c, 4, round);
      std::vector<torch::Tensor> gradients, shares;
      for (const auto& batch : batches) {
        const Alone one = alone(*model, batch, 4 * c.batch);
        gradients.push_back(one.gradient);
        shares.push_back(attribution == Attribution::kApprox
                             ? step::normalised_shares(at::tensor(one.scores, at::kDouble))
                             : step::class_shares_of(model->state.aggregation.class_shares, batch.targets));
      }
      const auto order =
          step::projection_order(model->state.aggregation.steps, 3, model->settings.aggregation.run_seed).clone();
      run_step(*model, batches);
      const auto expected = by_definition(gradients, at::stack(shares), host_mask(*model), order);
      CHECK(difference(model->state.gradients, expected) < 1e-5);
      for (const auto& [id, seed] : step::read_metrics(model->state).seeds) {
        conflicts += static_cast<int>(seed.conflicts);
        CHECK(seed.comparisons == 2);
      }
    }
    CHECK(model->state.aggregation.steps.item<std::int64_t>() == 6);
  }
  CHECK(conflicts > 0);
}

TEST_CASE("whatever the attribution, the seeds' vectors add up to the plain sum") {
  const LaneCase c = with_attribution(Attribution::kApprox);
  const auto model = grown_model(c, 3);
  const auto batches = make_batches(c, 3);
  std::vector<torch::Tensor> gradients, shares;
  for (const auto& batch : batches) {
    const Alone one = alone(*model, batch, 3 * c.batch);
    gradients.push_back(one.gradient);
    shares.push_back(step::normalised_shares(at::tensor(one.scores, at::kDouble)));
  }
  const torch::Tensor all = at::stack(gradients), rows = at::stack(shares);
  CHECK(at::allclose(rows.sum(1), at::ones({3})));
  CHECK(difference(at::mm(rows.t(), all).sum(0), all.sum(0)) < 1e-5);
}

TEST_CASE("with one seed, one microbatch, uniform attribution or no surgery the gradient is the plain sum to the bit") {
  const auto plain = [](LaneCase c, int seeds, int microbatches) {
    c.config.growth.aggregation.surgery = GradientSurgery::kNone;
    c.config.growth.aggregation.seed_figures = false;
    const auto model = grown_model(c, seeds);
    run_step(*model, make_batches(c, microbatches));
    return model->state.gradients.clone();
  };
  const auto ours = [](const LaneCase& c, int seeds, int microbatches) {
    const auto model = grown_model(c, seeds);
    run_step(*model, make_batches(c, microbatches));
    return model->state.gradients.clone();
  };
  const LaneCase approx = with_attribution(Attribution::kApprox), uniform = with_attribution(Attribution::kUniform);
  CHECK(at::equal(ours(approx, 1, 3), plain(approx, 1, 3)));
  CHECK(at::equal(ours(approx, 3, 1), plain(approx, 3, 1)));
  CHECK(at::equal(ours(uniform, 3, 3), plain(uniform, 3, 3)));
  const LaneCase by_class = with_attribution(Attribution::kDataloader);
  CHECK_FALSE(at::equal(ours(by_class, 3, 8), plain(by_class, 3, 8)));
}

TEST_CASE("a microbatch that is computed in parts is one microbatch for surgery") {
  const auto in_two = [](const std::vector<Microbatch>& batches, std::int64_t first) {
    std::vector<Microbatch> parts;
    for (const auto& batch : batches) {
      const std::int64_t rest = batch.inputs.size(0) - first;
      parts.push_back({batch.inputs.narrow(0, 0, first), batch.targets.narrow(0, 0, first)});
      parts.push_back({batch.inputs.narrow(0, first, rest), batch.targets.narrow(0, first, rest), true});
    }
    return parts;
  };
  for (const Attribution attribution : {Attribution::kApprox, Attribution::kProbe, Attribution::kDataloader}) {
    LaneCase c = with_attribution(attribution);
    c.batch = 8;
    for (const int microbatches : {1, 2}) {
      CAPTURE(static_cast<int>(attribution), microbatches);
      const auto whole = grown_model(c, 2), in_parts = grown_model(c, 2);
      const auto batches = make_batches(c, microbatches), parts = in_two(batches, 3);
      step::probe_attribution(*whole, batches);
      run_step(*whole, batches);
      step::probe_attribution(*in_parts, parts);
      run_step(*in_parts, parts);
      const auto steps = [](const Model& model) { return model.state.aggregation.steps.item<std::int64_t>(); };
      CHECK(steps(*whole) == microbatches - 1);
      CHECK(steps(*in_parts) == steps(*whole));
      CHECK(difference(in_parts->state.gradients, whole->state.gradients) < 1e-5);
      CHECK(difference(in_parts->state.seed_sums.figures, whole->state.seed_sums.figures) < 1e-5);
    }
  }
}

TEST_CASE("a seed answers for its classes, and all alike for the rest") {
  const auto model = grown_model(with_attribution(Attribution::kDataloader), 3);
  const auto& table = model->state.aggregation.class_shares;
  const auto targets = at::tensor({0, 1, 2, 4}, at::kLong);
  const auto shares = step::class_shares_of(table, targets);
  CHECK(at::allclose(shares, at::tensor({(1 + 1 + 1.0 / 3) / 4, (1 + 1.0 / 3) / 4, (1.0 / 3) / 4}).to(at::kFloat)));
  CHECK(at::allclose(step::normalised_shares(at::zeros({4})), at::full({4}, 0.25)));
}

TEST_CASE("a probe measures what the loss loses without each seed, and the step goes by it") {
  LaneCase c = with_attribution(Attribution::kProbe);
  c.batch = 16;
  const auto model = grown_model(c, 3);
  const auto batches = make_batches(c, 3);
  step::probe_attribution(*model, batches);
  const torch::Tensor probed = model->state.aggregation.probed;
  REQUIRE(probed.sizes() == torch::IntArrayRef({3, 3}));
  CHECK(at::allclose(probed.sum(1), at::ones({3})));
  const auto loss = [&](const Microbatch& batch) {
    const torch::NoGradGuard no_grad;
    return at::cross_entropy_loss(model->network.forward(batch.inputs, kasmina::Mode::kEvaluate), batch.targets, {},
                                  at::Reduction::Sum);
  };
  std::vector<torch::Tensor> lost;
  const torch::Tensor now = loss(batches[1]);
  for (const char* seed : {"seed-0001", "seed-0002", "seed-0003"}) {
    const kasmina::AlphaOverride without(model->network.state(), seed, 0);
    lost.push_back(loss(batches[1]).sub(now).clamp_min(0));
  }
  const torch::Tensor expected = at::stack(lost);
  CHECK(at::allclose(probed[1], expected.div(expected.sum()), 1e-3, 1e-4));
  run_step(*model, batches);
  CHECK(model->state.aggregation.steps.item<std::int64_t>() == 1);
}

TEST_CASE("a probe writes where recorded steps read, and refuses a step of more microbatches than the run's") {
  const LaneCase c = with_attribution(Attribution::kProbe);
  const auto model = grown_model(c, 2);
  const torch::Tensor& probed = model->state.aggregation.probed;
  const void* const place = probed.const_data_ptr();
  for (const int microbatches : {2, kMicrobatches}) {
    step::probe_attribution(*model, make_batches(c, microbatches));
    CHECK(probed.const_data_ptr() == place);
  }
  CHECK_THROWS_AS(step::probe_attribution(*model, make_batches(c, kMicrobatches + 1)), base::Error);
  CHECK(probed.const_data_ptr() == place);
}

TEST_CASE("what comes back through an isolated seed is found, and nothing else") {
  const LaneCase c = grown_case();
  const auto model = grown_model(c, 2);
  const auto seed_figures = [&] {
    auto seeds = step::read_metrics(model->state).seeds;
    return std::pair{seeds.at(0).second, seeds.at(1).second};
  };
  set_scalar(*model, "seed-0001.isolation_gate", 0);
  run_step(*model, make_batches(c, 2));
  {
    const auto [isolated, open] = seed_figures();
    CHECK(isolated.isolation_violations == 0);
    CHECK(isolated.isolation_seed_norm == 0);
    CHECK(isolated.isolation_host_norm > 0);
    CHECK(open.isolation_violations == 0);
    CHECK(open.isolation_seed_norm > 0);
    CHECK(open.isolation_dot != 0);
  }
  // A leak: the gate is said to be shut, and the gradient passes.
  set_scalar(*model, "seed-0001.isolation_gate", 1);
  const step::TrainingForward leaking = [&](const torch::Tensor& inputs, kasmina::SlotTaps* taps) {
    const torch::Tensor output = step::training_forward(model->network)(inputs, taps);
    if (taps != nullptr) taps->at(0).isolation_gate = at::zeros({});
    return output;
  };
  step::train_step(model->state, model->settings, make_batches(c, 2), leaking);
  const auto [leaky, open] = seed_figures();
  CHECK(leaky.isolation_violations == 2);
  CHECK(open.isolation_violations == 0);
}

TEST_CASE("under fp16's loss scale the seeds' figures are those of the gradients themselves") {
  LaneCase c = grown_case();
  c.config.growth.aggregation.layers_shown = 2;
  LaneCase scaled = c;
  scaled.compute = torch::kHalf;
  const auto figures_of = [](const LaneCase& of) {
    const auto model = grown_model(of, 1);
    run_step(*model, make_batches(of, 2));
    return step::read_metrics(model->state).seeds.at(0).second;
  };
  const auto plain = figures_of(c), half = figures_of(scaled);
  const auto close = [](double a, double b) { return std::abs(a - b) < 0.05 * std::abs(a); };
  CHECK(close(plain.isolation_host_norm, half.isolation_host_norm));
  CHECK(close(plain.isolation_seed_norm, half.isolation_seed_norm));
  CHECK(close(plain.isolation_dot, half.isolation_dot));
  CHECK(close(plain.layers.at(0).second, half.layers.at(0).second));
}

TEST_CASE("layers tell their gradients' norms, the largest first") {
  LaneCase c = grown_case();
  c.config.growth.aggregation.layers_shown = 4;
  const auto model = grown_model(c, 1);
  run_step(*model, make_batches(c, 1));
  const double norm = model->state.groups.at(1).gradients.flat.norm().item<double>();
  const auto seeds = step::read_metrics(model->state).seeds;
  double squares = 0, before = 1e9;
  for (const auto& [layer, layer_norm] : seeds.at(0).second.layers) {
    CHECK(layer.starts_with("seed-0001."));
    CHECK(layer_norm <= before);
    before = layer_norm;
    squares += layer_norm * layer_norm;
  }
  CHECK(seeds.at(0).second.layers.size() > 1);
  CHECK(std::abs(std::sqrt(squares) - norm) < 1e-5 * norm);
}

}  // namespace esper::tests::aggregation_test
