#include "step/copied_moments.h"

#include <ATen/ops/allclose.h>

#include <catch2/catch_test_macros.hpp>
#include <cmath>

#include "support/models/step_fixture.h"

namespace esper::test::copied_moments_test {

using namespace esper::step;
using namespace esper::test;
using esper::kasmina::CopyKind;
using esper::kasmina::ParameterGroup;

namespace {

using Ids = std::vector<std::string>;

// The bench's groups with a seed that copied the second layer, its bias as zeros.
std::vector<ParameterGroup> with_copies(const Bench& bench) {
  const auto copy = [](const torch::Tensor& of) { return of.detach().clone().requires_grad_(true); };
  auto groups = bench.net.groups();
  ParameterGroup& seed = groups.emplace_back();
  seed.id = seed.owner = "seed-0001";
  seed.parameters = {{"seed-0001.weight", copy(bench.net.w2)}, {"seed-0001.bias", copy(bench.net.b2)}};
  seed.copies = {{"seed-0001.weight", "host.2.weight", CopyKind::kWhole},
                 {"seed-0001.bias", "host.2.bias", CopyKind::kZeroed}};
  return groups;
}

StructureChange sync_after_steps(Bench& bench, const std::vector<ParameterGroup>& groups) {
  for (int i = 0; i < 3; ++i) bench.step({samples(8)});
  return sync_groups(bench.state, bench.settings, groups);
}

bool is_zero(const torch::Tensor& tensor) { return tensor.abs().max().item<float>() == 0; }

}  // namespace

TEST_CASE("adamw: a copy has its source's moments and step count, a zeroed one the second moment only") {
  Bench bench(adamw());
  const auto change = sync_after_steps(bench, with_copies(bench));
  const auto state = snapshot(bench.state);
  CHECK_FALSE(is_zero(state.at("optimizer.exp_avg.host.2.weight")));
  CHECK(same_bits(state.at("optimizer.exp_avg.seed-0001.weight"), state.at("optimizer.exp_avg.host.2.weight")));
  CHECK(same_bits(state.at("optimizer.exp_avg_sq.seed-0001.weight"), state.at("optimizer.exp_avg_sq.host.2.weight")));
  CHECK(is_zero(state.at("optimizer.exp_avg.seed-0001.bias")));
  CHECK_FALSE(is_zero(state.at("optimizer.exp_avg_sq.host.2.bias")));
  CHECK(same_bits(state.at("optimizer.exp_avg_sq.seed-0001.bias"), state.at("optimizer.exp_avg_sq.host.2.bias")));
  CHECK(state.at("optimizer.step.seed-0001").item<float>() == 3);
  CHECK(change.copied == Ids{"seed-0001.weight"});
  CHECK(change.reset == Ids{"seed-0001.bias"});
  CHECK(change.created == Ids{"seed-0001.weight", "seed-0001.bias"});
}

TEST_CASE("sgd: momentum is copied where the value was, and without momentum there is nothing to copy") {
  StepSettings settings = plain_sgd();
  Bench plain(settings);
  CHECK(sync_after_steps(plain, with_copies(plain)).copied.empty());
  settings.optimizer.momentum = 0.9;
  Bench bench(settings);
  const auto change = sync_after_steps(bench, with_copies(bench));
  const auto state = snapshot(bench.state);
  const std::string momentum = "optimizer.momentum_buffer.";
  CHECK(same_bits(state.at(momentum + "seed-0001.weight"), state.at(momentum + "host.2.weight")));
  CHECK(is_zero(state.at(momentum + "seed-0001.bias")));
  CHECK(change.copied == Ids{"seed-0001.weight"});
  CHECK(change.reset.empty());
}

TEST_CASE(
    "adamw: beside a parameter that is no copy the moments are those of a younger optimizer, alike when corrected") {
  Bench bench(adamw());
  auto groups = with_copies(bench);
  groups.back().parameters.push_back({"seed-0001.blend_gate.weight", at::ones({5}).requires_grad_(true)});
  const auto& optimizer = bench.settings.optimizer;
  const double young = 1 / (1 - optimizer.beta1);
  for (int i = 0; i < 40; ++i) bench.step({samples(8)});
  sync_groups(bench.state, bench.settings, groups);
  const auto state = snapshot(bench.state);
  CHECK(std::abs(state.at("optimizer.step.seed-0001").item<double>() - young) < 1e-3);
  const auto corrected = [&](const std::string& moment, double beta, const std::string& id, double steps) {
    return state.at("optimizer." + moment + "." + id) / (1 - std::pow(beta, steps));
  };
  CHECK(at::allclose(corrected("exp_avg", optimizer.beta1, "seed-0001.weight", young),
                     corrected("exp_avg", optimizer.beta1, "host.2.weight", 40), 1e-4, 1e-12));
  CHECK(at::allclose(corrected("exp_avg_sq", optimizer.beta2, "seed-0001.weight", young),
                     corrected("exp_avg_sq", optimizer.beta2, "host.2.weight", 40), 1e-4, 1e-12));
  CHECK(is_zero(state.at("optimizer.exp_avg_sq.seed-0001.blend_gate.weight")));
}

TEST_CASE("adamw: copies of frozen parameters begin without moments, those beside them as a younger optimizer") {
  Bench bench(adamw());
  auto frozen = bench.net.groups();
  std::erase_if(frozen.front().parameters, [](const auto& named) { return named.id == "host.2.weight"; });
  sync_groups(bench.state, bench.settings, frozen);
  for (int i = 0; i < 40; ++i) bench.step({samples(8)});
  auto groups = with_copies(bench);
  groups.front() = frozen.front();
  const auto change = sync_groups(bench.state, bench.settings, groups);
  const auto state = snapshot(bench.state);
  CHECK(change.copied.empty());
  CHECK(is_zero(state.at("optimizer.exp_avg.seed-0001.weight")));
  CHECK(is_zero(state.at("optimizer.exp_avg_sq.seed-0001.weight")));
  CHECK_FALSE(is_zero(state.at("optimizer.exp_avg_sq.seed-0001.bias")));
  CHECK(state.at("optimizer.step.seed-0001").item<float>() <= 10.001F);
}

TEST_CASE("a later change of structure copies nothing again") {
  Bench bench(adamw());
  auto groups = with_copies(bench);
  sync_after_steps(bench, groups);
  bench.step({samples(8)});  // the seed takes no part in the forward, and is not updated
  const auto faded = snapshot(bench.state);
  CHECK_FALSE(same_bits(faded.at("optimizer.exp_avg.seed-0001.weight"), faded.at("optimizer.exp_avg.host.2.weight")));
  groups.push_back({"seed-0002", "seed-0002", {{"seed-0002.weight", at::ones({5}).requires_grad_(true)}}});
  const auto change = sync_groups(bench.state, bench.settings, groups);
  CHECK(change.copied.empty());
  const auto after = snapshot(bench.state);
  for (const auto* id : {"optimizer.exp_avg.seed-0001.weight", "optimizer.exp_avg_sq.seed-0001.bias"}) {
    CHECK(same_bits(after.at(id), faded.at(id)));
  }
  CHECK(after.at("optimizer.step.seed-0001").item<float>() == 3);
  CHECK(after.at("optimizer.step.host").item<float>() == 4);
}

}  // namespace esper::test::copied_moments_test
