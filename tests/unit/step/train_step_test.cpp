#include "step/train_step.h"

#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <catch2/matchers/catch_matchers_floating_point.hpp>

#include "support/call_counter.h"
#include "support/models/step_fixture.h"

namespace esper::test::train_step_test {

using namespace esper::base;
using namespace esper::step;
using namespace esper::test;
using Catch::Matchers::WithinAbs;
using Catch::Matchers::WithinRel;

namespace {

double parameters_apart(const Bench& a, const Bench& b) {
  double worst = 0;
  for (std::size_t i = 0; i < a.state.parameters.size(); ++i) {
    worst = std::max(worst, largest_difference(a.state.parameters[i], b.state.parameters[i]));
  }
  return worst;
}

torch::Tensor mean_loss(const SmallNet& net, const Microbatch& batch) {
  return at::cross_entropy_loss(net.forward(batch.inputs), batch.targets);
}

}  // namespace

TEST_CASE("uneven microbatches make the same step as one batch") {
  const Microbatch whole = samples(10);
  for (const auto& sizes : {std::vector<std::int64_t>{4, 4, 2}, {1, 9}, {3, 3, 3, 1}}) {
    Bench one(plain_sgd()), parts(plain_sgd());
    for (int i = 0; i < 5; ++i) {
      one.step({whole});
      parts.step(cut(whole, sizes));
    }
    CHECK(parameters_apart(one, parts) < 1e-6);
    const StepMetrics a = read_metrics(one.state), b = read_metrics(parts.state);
    CHECK_THAT(a.loss, WithinAbs(b.loss, 1e-6));
    CHECK_THAT(a.gradient_norm, WithinAbs(b.gradient_norm, 1e-6));
    CHECK(a.accuracy == b.accuracy);
    CHECK(b.samples == 50);
    CHECK(b.steps == 5);
  }
}

TEST_CASE("a left-over group of microbatches trains at its own mean") {
  Bench left_over(plain_sgd()), alone(plain_sgd());
  const Microbatch tail = samples(3, 40);
  left_over.step(cut(tail, {2, 1}));
  alone.step({tail});
  CHECK(parameters_apart(left_over, alone) < 1e-7);
  Bench untouched(plain_sgd());
  CHECK(parameters_apart(left_over, untouched) > 1e-4);
}

TEST_CASE("loss is the mean over samples and the gradient norm is the global L2 norm") {
  Bench bench(plain_sgd(0.0));
  const Microbatch a = samples(4), b = samples(2, 4);
  const double loss_a = mean_loss(bench.net, a).item<double>(), loss_b = mean_loss(bench.net, b).item<double>();
  double expected_norms = 0;
  for (const Microbatch& batch : {a, b}) {
    bench.step({batch});
    mean_loss(bench.net, batch).backward();
    double squares = 0;
    for (torch::Tensor parameter : bench.state.parameters) {
      squares += parameter.grad().to(torch::kFloat64).square().sum().item<double>();
      parameter.mutable_grad().reset();
    }
    expected_norms += std::sqrt(squares);
  }
  CHECK(metrics_so_far(bench.state).samples == 6);  // and they stay
  const StepMetrics metrics = read_metrics(bench.state);
  CHECK_THAT(metrics.loss, WithinRel((4 * loss_a + 2 * loss_b) / 6, 1e-6));
  CHECK_THAT(metrics.gradient_norm, WithinRel(expected_norms / 2, 1e-6));
  CHECK(metrics.samples == 6);
  CHECK(metrics.nonfinite_steps == 0);
  const StepMetrics empty = read_metrics(bench.state);
  CHECK(empty.steps == 0);
  CHECK(empty.loss == 0);
}

TEST_CASE("accuracy counts the targets with the largest logit") {
  Bench bench(plain_sgd(0.0));
  const Microbatch batch = samples(40);
  const torch::Tensor hits = bench.net.forward(batch.inputs).argmax(1).eq(batch.targets);
  bench.step({batch});
  CHECK_THAT(read_metrics(bench.state).accuracy, WithinAbs(hits.to(torch::kFloat64).mean().item<double>(), 1e-12));
}

TEST_CASE("each token of a sequence is a target") {
  Bench tokens(plain_sgd()), flat(plain_sgd());
  const Microbatch batch = samples(12);
  flat.step({batch});
  tokens.step({{batch.inputs.reshape({3, 4, 6}), batch.targets.reshape({3, 4})}});
  CHECK(parameters_apart(tokens, flat) < 1e-7);
  CHECK(read_metrics(tokens.state).samples == 12);
}

TEST_CASE("group norms make up the global norm") {
  Bench bench(plain_sgd(), Grouping::kTwo);
  bench.step({samples(8)});
  const StepMetrics metrics = read_metrics(bench.state);
  REQUIRE(metrics.group_gradient_norms.size() == 2);
  const double host = metrics.group_gradient_norms.at("host"), seed = metrics.group_gradient_norms.at("seed-0001");
  CHECK(host > 0);
  CHECK(seed > 0);
  CHECK_THAT(std::hypot(host, seed), WithinRel(metrics.gradient_norm, 1e-6));

  Bench single(plain_sgd());
  single.step({samples(8)});
  const StepMetrics one = read_metrics(single.state);
  CHECK(one.group_gradient_norms.at("host") == one.gradient_norm);
}

// How far a step with rate 1 moved the parameters of each of the two groups, before clipping their gradient norms.
struct Moved {
  double first, second;
};

Moved moved_with_gate(double isolation_gate, double clip_norm) {
  StepSettings settings = plain_sgd(1.0);
  settings.clip_norm = clip_norm;
  Bench bench(settings, Grouping::kTwo);
  auto groups = bench.net.groups(Grouping::kTwo);
  groups[1].owner = groups[1].id;
  groups[1].isolation_gate = at::full({}, isolation_gate, torch::kFloat32);
  sync_groups(bench.state, settings, groups);
  const auto before = snapshot(bench.state);
  bench.step({samples(8)});
  const auto moved = [&](const esper::kasmina::ParameterGroup& group) {
    double squares = 0;
    for (const auto& named : group.parameters) {
      squares += named.tensor.detach().sub(before.at(named.id)).square().sum().item<double>();
    }
    return std::sqrt(squares);
  };
  return {moved(groups[0]), moved(groups[1])};
}

TEST_CASE("an isolated seed and the host are clipped apart, others together") {
  constexpr double kClip = 0.05;
  const Moved free = moved_with_gate(1, 0), together = moved_with_gate(1, kClip), apart = moved_with_gate(0, kClip);
  REQUIRE(free.first > kClip);
  REQUIRE(free.second > kClip);
  CHECK_THAT(std::hypot(together.first, together.second), WithinRel(kClip, 1e-4));
  CHECK_THAT(together.first / together.second, WithinRel(free.first / free.second, 1e-4));
  CHECK_THAT(apart.first, WithinRel(kClip, 1e-4));
  CHECK_THAT(apart.second, WithinRel(kClip, 1e-4));
}

TEST_CASE("an isolated seed whose gradient is not finite leaves the host finite where steps are clipped") {
  StepSettings settings = plain_sgd(1.0);
  settings.clip_norm = 0.05;
  Bench bench(settings, Grouping::kTwo);
  auto groups = bench.net.groups(Grouping::kTwo);
  groups[1].owner = groups[1].id;
  groups[1].isolation_gate = at::zeros({}, torch::kFloat32);
  sync_groups(bench.state, settings, groups);
  const torch::Tensor spoilt = groups[1].parameters.front().tensor;
  train_step(bench.state, settings, std::vector{samples(8)},
             [&](const torch::Tensor& inputs, esper::kasmina::SlotTaps*) {
               // 0, with an infinite slope along the seed's parameter.
               return bench.net.forward(inputs) + at::sqrt((spoilt - spoilt.detach()).sum());
             });
  CHECK_FALSE(spoilt.isfinite().all().item<bool>());
  for (const auto& named : groups[0].parameters) CHECK(named.tensor.isfinite().all().item<bool>());
}

TEST_CASE("clipping limits the length of the step and is counted") {
  StepSettings settings = plain_sgd(1.0);
  settings.clip_norm = 0.05;
  Bench bench(settings);
  const auto before = snapshot(bench.state);
  bench.step({samples(8)});
  double moved = 0;
  const auto groups = bench.net.groups();
  for (const auto& named : groups[0].parameters) {
    moved += named.tensor.detach().sub(before.at(named.id)).square().sum().item<double>();
  }
  CHECK_THAT(std::sqrt(moved), WithinRel(0.05, 1e-4));
  const StepMetrics metrics = read_metrics(bench.state);
  CHECK(metrics.clipped_steps == 1);
  CHECK(metrics.gradient_norm > 0.05);

  settings.clip_norm = 1e5;
  Bench loose(settings), off(plain_sgd(1.0));
  loose.step({samples(8)});
  off.step({samples(8)});
  CHECK(parameters_apart(loose, off) == 0);
  CHECK(read_metrics(loose.state).clipped_steps == 0);
}

TEST_CASE("label smoothing is PyTorch's") {
  StepSettings settings = plain_sgd(0.5);
  settings.loss.label_smoothing = 0.2;
  Bench bench(settings), reference(settings);
  const Microbatch batch = samples(8);
  const torch::Tensor loss =
      at::cross_entropy_loss(reference.net.forward(batch.inputs), batch.targets, {}, at::Reduction::Mean, -100, 0.2);
  loss.backward();
  {
    at::NoGradGuard no_grad;
    for (torch::Tensor parameter : reference.state.parameters) parameter.sub_(parameter.grad(), 0.5);
  }
  bench.step({batch});
  CHECK(parameters_apart(bench, reference) < 1e-6);
  CHECK_THAT(read_metrics(bench.state).loss, WithinRel(loss.item<double>(), 1e-6));
}

TEST_CASE("a parameter that the forward does not use stays as it is, and so does its average") {
  StepSettings settings = adamw();
  settings.optimizer.weight_decay = 0.1;
  settings.ema_decay = 0.9;
  Bench bench(settings);
  const torch::Tensor spare = at::ones({3, 1}).requires_grad_(true);
  auto groups = bench.net.groups();
  groups[0].parameters.push_back({"host.spare", spare});
  sync_groups(bench.state, settings, groups);
  bench.step({samples(8)});
  bench.step(cut(samples(8), {4, 4}));
  CHECK(same_bits(spare, at::ones({3, 1})));
  const auto after = snapshot(bench.state);
  CHECK(same_bits(after.at("ema.host.spare"), at::ones({3, 1})));
  CHECK(same_bits(after.at("optimizer.exp_avg.host.spare"), at::zeros({3, 1})));
  CHECK(after.at("optimizer.exp_avg.host.2.weight").abs().max().item<double>() > 0);
  CHECK(read_metrics(bench.state).nonfinite_steps == 0);
}

TEST_CASE("one call for all parameters and one call per parameter make the same bits") {
  // Sizes that no vector divides, so that a parameter's end is another place of its flat tensor.
  const auto steps = [](StepSettings settings, bool foreach) {
    settings.optimizer.foreach = foreach;
    SmallNet net = SmallNet::make(6, 37, 4);
    StepState state = make_step_state(settings, torch::kCPU);
    sync_groups(state, settings, net.groups(Grouping::kTwo));
    for (int i = 0; i < 7; ++i) {
      train_step(state, settings, std::vector{samples(8, i)},
                 [&](const torch::Tensor& x, esper::kasmina::SlotTaps*) { return net.forward(x); });
    }
    return snapshot(state);
  };
  StepSettings momentum = plain_sgd(), nesterov = plain_sgd(), all = adamw(), half = adamw();
  momentum.optimizer.momentum = nesterov.optimizer.momentum = 0.9;
  momentum.optimizer.weight_decay = nesterov.optimizer.weight_decay = 0.01;
  nesterov.optimizer.nesterov = true;
  all.ema_decay = momentum.ema_decay = 0.9;
  half.compute_type = torch::kHalf;
  for (const StepSettings& settings : {plain_sgd(), momentum, nesterov, all, half}) {
    const auto flat = steps(settings, true), single = steps(settings, false);
    for (const auto& [id, tensor] : flat) {
      INFO(id);
      CHECK(same_bits(tensor, single.at(id)));
    }
  }
}

TEST_CASE("a gradient tensor that two parameters share is not changed twice") {
  const torch::Tensor a = at::zeros({4}).requires_grad_(true), b = at::zeros({4}).requires_grad_(true);
  StepSettings settings = plain_sgd(1.0);
  settings.clip_norm = 0.1;
  StepState state = make_step_state(settings, torch::kCPU);
  sync_groups(state, settings, std::vector<esper::kasmina::ParameterGroup>{{"host", "host", {{"a", a}, {"b", b}}}});
  const std::vector<Microbatch> batch = {{at::zeros({1, 4}), at::zeros({1}, torch::kInt64)}};
  train_step(state, settings, batch,
             [&](const torch::Tensor& x, esper::kasmina::SlotTaps*) { return x.add(a.add(b)); });
  CHECK(same_bits(a, b));
  CHECK_THAT(at::cat({a, b}).norm().item<double>(), WithinRel(0.1, 1e-4));
}

TEST_CASE("the step reads nothing from the device") {
  for (const torch::ScalarType type : {torch::kFloat32, torch::kBFloat16, torch::kHalf}) {
    for (const bool use_adamw : {false, true}) {
      StepSettings settings = use_adamw ? adamw() : plain_sgd();
      settings.optimizer.momentum = 0.9;
      settings.clip_norm = 0.5;
      settings.ema_decay = 0.9;
      settings.loss.label_smoothing = 0.1;
      settings.compute_type = type;
      Bench bench(settings, Grouping::kTwo);
      const auto microbatches = cut(samples(10), {4, 4, 2});
      const CallCounter counter;
      bench.step(microbatches);
      set_learning_rate(bench.state, 0.05);
      CHECK(CallCounter::host_reads() == 0);
      CHECK(CallCounter::calls() > 20);
    }
  }
}

TEST_CASE("the counter of device reads sees one") {
  const torch::Tensor value = at::ones({});
  const CallCounter counter;
  CHECK(value.item<double>() == 1);
  CHECK(CallCounter::host_reads() > 0);
}

TEST_CASE("in fp32 a non-finite gradient is counted and left out of the mean norm") {
  Bench bench(plain_sgd(0.0), Grouping::kTwo);
  bench.step({samples(8)});
  Microbatch broken = samples(8);
  broken.inputs[0][0] = std::numeric_limits<float>::infinity();
  bench.step({broken});
  const StepMetrics metrics = read_metrics(bench.state);
  CHECK(metrics.steps == 2);
  CHECK(metrics.nonfinite_steps == 1);
  CHECK(std::isfinite(metrics.gradient_norm));
  CHECK(metrics.group_gradient_norms.at("host") > 0);
}

TEST_CASE("class weights divide by their sum over all microbatches, as PyTorch's mean") {
  StepSettings settings = plain_sgd(1.0);
  settings.loss.class_weights = {0.2, 1, 3, 0};
  settings.loss.label_smoothing = 0.1;
  const Microbatch whole = samples(10);
  for (const auto& sizes : {std::vector<std::int64_t>{10}, {4, 4, 2}}) {
    Bench bench(settings);
    const SmallNet before = SmallNet::make();
    const torch::Tensor loss =
        at::cross_entropy_loss(before.forward(whole.inputs), whole.targets, torch::tensor({0.2F, 1.0F, 3.0F, 0.0F}),
                               at::Reduction::Mean, -100, 0.1);
    loss.backward();
    bench.step(cut(whole, sizes));
    CHECK(largest_difference(bench.net.w2, before.w2.sub(before.w2.grad())) < 1e-6);
    const StepMetrics metrics = read_metrics(bench.state);
    CHECK_THAT(metrics.loss, WithinRel(loss.item<double>(), 1e-6));
    CHECK(metrics.samples == 10);
  }
}

TEST_CASE("a step in which no target's class has a weight has no gradient") {
  StepSettings settings = plain_sgd(1.0);
  settings.loss.class_weights = {1, 1, 1, 0};
  settings.loss.label_smoothing = GENERATE(0.0, 0.1);
  Bench bench(settings), untouched(settings);
  Microbatch batch = samples(3);
  batch.targets.fill_(3);
  bench.step({batch});
  CHECK(parameters_apart(bench, untouched) == 0);
  CHECK(read_metrics(bench.state).loss == 0);
}

TEST_CASE("a regression's step is PyTorch's, in microbatches too, and counts no hits") {
  StepSettings settings = plain_sgd(1.0);
  settings.loss.kind = esper::config::LossKind::kMse;
  Microbatch whole = samples(10);
  whole.targets = whole.inputs.narrow(1, 0, 4).mul(3).contiguous();
  Bench bench(settings);
  const SmallNet before = SmallNet::make();
  const torch::Tensor loss = at::mse_loss(before.forward(whole.inputs), whole.targets);
  loss.backward();
  bench.step(cut(whole, {4, 4, 2}));
  CHECK(largest_difference(bench.net.w2, before.w2.sub(before.w2.grad())) < 1e-6);
  const StepMetrics metrics = read_metrics(bench.state);
  CHECK_THAT(metrics.loss, WithinRel(loss.item<double>(), 1e-6));
  CHECK(metrics.samples == 40);
  CHECK(metrics.accuracy == 0);
}

}  // namespace esper::test::train_step_test
