#include "step/gradients/grad_scaler.h"

#include <catch2/catch_test_macros.hpp>
#include <cmath>

#include "support/models/step_fixture.h"

namespace esper::test::grad_scaler_test {

using namespace esper::base;
using namespace esper::step;
using namespace esper::test;

namespace {

StepSettings fp16_adamw() {
  StepSettings settings = adamw();
  settings.compute_type = torch::kHalf;
  settings.ema_decay = 0.9;
  settings.clip_norm = 0.5;
  return settings;
}

double value(const torch::Tensor& tensor) { return tensor.item<double>(); }

}  // namespace

TEST_CASE("an overflow leaves everything but scale and metrics bit-unchanged and halves the scale") {
  Bench bench(fp16_adamw(), Grouping::kTwo);
  for (int i = 0; i < 3; ++i) bench.step({samples(8)});
  const auto before = snapshot(bench.state);
  const double scale_before = std::ldexp(1.0, 40);  // far beyond the range of halves
  bench.state.loss_scale.scale.fill_(scale_before);
  bench.step(cut(samples(8), {5, 3}));
  const auto after = snapshot(bench.state);
  for (const auto& [id, tensor] : before) {
    if (id.starts_with("metrics.") || id.starts_with("scaler.")) continue;
    INFO(id);
    CHECK(same_bits(tensor, after.at(id)));
  }
  CHECK(value(bench.state.loss_scale.scale) == scale_before / 2);
  CHECK(value(bench.state.loss_scale.growth_tracker) == 0);
  const StepMetrics metrics = read_metrics(bench.state);
  CHECK(metrics.steps == 4);
  CHECK(metrics.nonfinite_steps == 1);
  CHECK(metrics.loss_scale == scale_before / 2);

  bench.state.loss_scale.scale.fill_(1024);
  bench.step({samples(8)});
  CHECK_FALSE(same_bits(before.at("host.1.weight"), bench.net.w1));
  CHECK(value(bench.state.groups[0].step) == 4);
}

TEST_CASE("the scale follows the rule of torch.amp.GradScaler with the settings of the run") {
  StepSettings settings = fp16_adamw();
  settings.grad_scaler = {1024, 4, 0.25, 3};
  Bench bench(settings);
  double expected = 1024;
  std::int64_t in_a_row = 0;
  for (const bool overflows : {false, false, false, true, false, false, true, false, false, false, false}) {
    REQUIRE(value(bench.state.loss_scale.scale) == expected);
    Microbatch batch = samples(8);
    if (overflows) batch.inputs = batch.inputs.mul(std::ldexp(1.0, 100));
    bench.step({batch});
    in_a_row = overflows ? 0 : in_a_row + 1;
    if (overflows) expected *= 0.25;
    if (in_a_row < 3) continue;
    expected *= 4;
    in_a_row = 0;
  }
  CHECK(value(bench.state.loss_scale.scale) == expected);
  CHECK(value(bench.state.loss_scale.growth_tracker) == 1);
  CHECK(expected == 1024);
}

TEST_CASE("a run file's scaler reaches the step") {
  config::RunConfig config;
  config.training.grad_scaler = {256, 8, 0.125, 5};
  const StepState state = make_step_state(step_settings(config, torch::kHalf), torch::kCPU);
  CHECK(value(state.loss_scale.scale) == 256);
  CHECK(state.loss_scale.config.growth_factor == 8);
  CHECK(state.loss_scale.config.backoff_factor == 0.125);
  CHECK(state.loss_scale.config.growth_interval == 5);
}

TEST_CASE("gradients are unscaled once per step, also with accumulation") {
  StepSettings scaled = plain_sgd();
  scaled.compute_type = torch::kHalf;
  Bench fp16(scaled), fp32(plain_sgd());
  const Microbatch whole = samples(10);
  for (int i = 0; i < 3; ++i) {
    fp16.step(cut(whole, {4, 4, 2}));
    fp32.step({whole});
  }
  for (std::size_t i = 0; i < fp16.state.parameters.size(); ++i) {
    CHECK(largest_difference(fp16.state.parameters[i], fp32.state.parameters[i]) < 2e-3);
  }
  CHECK(read_metrics(fp16.state).steps == 3);
}

TEST_CASE("bf16 and fp32 never scale") {
  for (const torch::ScalarType type : {torch::kBFloat16, torch::kFloat32}) {
    StepSettings settings = adamw();
    settings.compute_type = type;
    Bench bench(settings);
    bench.step({samples(8)});
    CHECK_FALSE(bench.state.loss_scale.enabled());
    for (const auto& [id, tensor] : snapshot(bench.state)) CHECK_FALSE(id.starts_with("scaler."));
    CHECK(read_metrics(bench.state).loss_scale == 1);
  }
}

TEST_CASE("autocast is on inside the forward only") {
  StepSettings settings = plain_sgd();
  settings.compute_type = torch::kBFloat16;
  Bench bench(settings);
  torch::ScalarType seen = torch::kFloat32;
  train_step(bench.state, settings, std::vector<Microbatch>{samples(4)},
             [&](const torch::Tensor& x, esper::kasmina::SlotTaps*) {
               const torch::Tensor logits = bench.net.forward(x);
               seen = logits.scalar_type();
               return logits;
             });
  CHECK(seen == torch::kBFloat16);
  CHECK(bench.net.forward(samples(4).inputs).scalar_type() == torch::kFloat32);
  CHECK(bench.net.w1.scalar_type() == torch::kFloat32);
}

}  // namespace esper::test::grad_scaler_test
