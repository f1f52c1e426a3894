#include "step/step_state.h"

#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <cmath>
#include <set>

#include "base/error.h"
#include "support/models/step_fixture.h"

namespace esper::test::step_state_test {

using namespace esper::base;
using namespace esper::step;
using namespace esper::test;
using esper::kasmina::ParameterGroup;

namespace {

StepSettings adamw_with_averages() {
  StepSettings settings = adamw();
  settings.ema_decay = 0.9;
  return settings;
}

const torch::Tensor& named(const StepState& state, const std::string& id,
                           std::vector<esper::kasmina::NamedTensor>& all) {
  all = named_tensors(state);
  for (const auto& entry : all) {
    if (entry.id == id) return entry.tensor;
  }
  FAIL("no tensor " + id);
  return all.front().tensor;
}

torch::Tensor named(const StepState& state, const std::string& id) {
  std::vector<esper::kasmina::NamedTensor> all;
  return named(state, id, all);
}

ParameterGroup seed(const torch::Tensor& weight) { return {"seed-0001", "seed-0001", {{"seed-0001.weight", weight}}}; }

}  // namespace

TEST_CASE("growth keeps what stays, bit for bit and as the same tensors") {
  Bench bench(adamw_with_averages());
  for (int i = 0; i < 3; ++i) bench.step({samples(8)});
  const auto before = snapshot(bench.state);
  const torch::Tensor moment = named(bench.state, "optimizer.exp_avg.host.1.weight");

  auto groups = bench.net.groups();
  groups.insert(groups.begin(), seed(at::ones({5}).requires_grad_(true)));
  const StructureChange change = sync_groups(bench.state, bench.settings, groups);
  CHECK(change.created == std::vector<std::string>{"seed-0001.weight"});
  CHECK(change.carried.size() == 4);
  CHECK(change.dropped.empty());
  const auto after = snapshot(bench.state);
  for (const auto& [id, tensor] : before) {
    if (id.starts_with("metrics.")) continue;
    INFO(id);
    CHECK(same_bits(tensor, after.at(id)));
  }
  CHECK(named(bench.state, "optimizer.exp_avg.host.1.weight").is_same(moment));
  CHECK(same_bits(after.at("optimizer.step.seed-0001"), at::zeros({})));
  CHECK(same_bits(after.at("optimizer.step.host"), at::full({}, 3.0f)));
  CHECK(same_bits(after.at("ema.seed-0001.weight"), at::ones({5})));
  bench.step({samples(8)});
  CHECK(same_bits(snapshot(bench.state).at("optimizer.step.host"), at::full({}, 4.0f)));
}

TEST_CASE("parameters move into one flat tensor with their bits and stay the same objects") {
  const SmallNet net = SmallNet::make(), same = SmallNet::make();
  const auto* before = net.w2.unsafeGetTensorImpl();
  const auto groups = net.groups();
  StepState state = make_step_state(plain_sgd(), torch::kCPU);
  sync_groups(state, plain_sgd(), groups);
  const torch::Tensor& flat = state.groups[0].parameters.flat;
  CHECK(flat.numel() == 6 * 8 + 8 + 8 * 4 + 4);
  CHECK(net.w2.unsafeGetTensorImpl() == before);
  for (const auto& named : groups[0].parameters) {
    CHECK(named.tensor.is_alias_of(flat));
    CHECK(named.tensor.is_leaf());
    CHECK(named.tensor.requires_grad());
  }
  CHECK(same_bits(net.w1, same.w1));
  CHECK(same_bits(net.b2, same.b2));
  at::NoGradGuard no_grad;
  flat.fill_(2);
  CHECK(same_bits(net.b2, at::full({4}, 2.0f)));
}

TEST_CASE("growth moves no other group's memory") {
  Bench bench(adamw_with_averages());
  bench.step({samples(8)});
  const torch::Tensor flat = bench.state.groups[0].parameters.flat;
  const void *place = flat.const_data_ptr(), *weight = bench.net.w2.const_data_ptr();
  const torch::Tensor grown = at::ones({5}).requires_grad_(true);
  auto groups = bench.net.groups();
  groups.push_back(seed(grown));
  sync_groups(bench.state, bench.settings, groups);
  CHECK(bench.state.groups[0].parameters.flat.is_same(flat));
  CHECK(bench.net.w2.const_data_ptr() == weight);
  CHECK(grown.is_alias_of(bench.state.groups[1].parameters.flat));
  sync_groups(bench.state, bench.settings, bench.net.groups());
  CHECK(bench.state.groups[0].parameters.flat.const_data_ptr() == place);
  CHECK(bench.net.w2.const_data_ptr() == weight);
}

TEST_CASE("a tensor that replaces another of its id is trained in its place, with its own values") {
  Bench bench(adamw());
  bench.step({samples(8)});
  const torch::Tensor moment = named(bench.state, "optimizer.exp_avg.host.1.weight");
  const torch::Tensor flat = bench.state.groups[0].parameters.flat;
  bench.net.w1 = at::full({8, 6}, 0.25).requires_grad_(true);
  sync_groups(bench.state, bench.settings, bench.net.groups());
  CHECK(bench.state.groups[0].parameters.flat.is_same(flat));
  CHECK(same_bits(bench.net.w1, at::full({8, 6}, 0.25f)));
  CHECK(bench.net.w1.is_alias_of(flat));
  CHECK(named(bench.state, "optimizer.exp_avg.host.1.weight").is_same(moment));
  bench.step({samples(8)});
  CHECK_FALSE(same_bits(bench.net.w1, at::full({8, 6}, 0.25f)));
}

TEST_CASE("all flat tensors of a group have an element at the same place") {
  StepSettings settings = adamw_with_averages();
  Bench bench(settings, Grouping::kTwo);
  for (const GroupState& group : bench.state.groups) {
    for (const FlatTensors* kept : {&group.gradients, &group.first_moments, &group.second_moments, &group.averages}) {
      for (std::size_t i = 0; i < group.parameters.views.size(); ++i) {
        CHECK(kept->views[i].storage_offset() - kept->flat.storage_offset() ==
              group.parameters.views[i].storage_offset());
      }
    }
  }
}

TEST_CASE("a state whose parameters another one took refuses to step") {
  Bench bench(plain_sgd());
  StepState other = make_step_state(plain_sgd(), torch::kCPU);
  sync_groups(other, plain_sgd(), bench.net.groups());
  CHECK_THROWS_AS(bench.step({samples(8)}), esper::base::Error);
}

TEST_CASE("a group without parameters takes part") {
  Bench bench(adamw_with_averages());
  auto groups = bench.net.groups();
  groups.push_back({"seed-0001", "seed-0001", {}});
  sync_groups(bench.state, bench.settings, groups);
  bench.step({samples(8)});
  CHECK(read_metrics(bench.state).group_gradient_norms.at("seed-0001") == 0);
}

TEST_CASE("what is gone is dropped and told") {
  Bench bench(adamw());
  auto groups = bench.net.groups();
  groups.push_back(seed(at::ones({5}).requires_grad_(true)));
  sync_groups(bench.state, bench.settings, groups);
  const StructureChange change = sync_groups(bench.state, bench.settings, bench.net.groups());
  CHECK(change.dropped == std::vector<std::string>{"seed-0001.weight"});
  CHECK(change.created.empty());
  CHECK(change.carried.size() == 4);
  for (const auto& entry : named_tensors(bench.state)) CHECK(entry.id.find("seed-0001") == std::string::npos);
}

// The first step of AdamW goes lr for each number, whatever the gradient; with the group's count of before, parameters
// without moments would go several times that far.
TEST_CASE("adamw's state is reset in a group that others join, as parameters that were frozen do; momentum goes on") {
  const bool adaptive = GENERATE(true, false);
  StepSettings settings = adaptive ? adamw(0.01) : plain_sgd(0.01);
  settings.optimizer.momentum = 0.9;
  settings.optimizer.weight_decay = 0;
  Bench bench(settings);
  const auto all = bench.net.groups();
  auto some = all;
  some.front().parameters.resize(2);
  sync_groups(bench.state, settings, some);
  for (int i = 0; i < 200; ++i) bench.step({samples(8)});
  const std::string first = adaptive ? "optimizer.exp_avg." : "optimizer.momentum_buffer.";
  const std::string old = some.front().parameters.front().id;
  const torch::Tensor moment = named(bench.state, first + old).clone();
  const auto change = sync_groups(bench.state, settings, all);
  CHECK(change.created.size() == 2);
  CHECK(change.reset.size() == (adaptive ? 2U : 0U));
  if (!adaptive) {
    CHECK(same_bits(named(bench.state, first + old), moment));
    return;
  }
  CHECK(named(bench.state, "optimizer.step.host").item<float>() == 0);
  const auto before = snapshot(bench.state);
  bench.step({samples(8)});
  for (const auto& parameter : all.front().parameters) {
    const auto moved = parameter.tensor.sub(before.at(parameter.id)).abs().max().item<double>();
    INFO(parameter.id);
    CHECK(std::abs(moved - 0.01) < 1e-4);
  }
}

TEST_CASE("moments follow a parameter into another group") {
  Bench bench(adamw());
  for (int i = 0; i < 2; ++i) bench.step({samples(8)});
  const torch::Tensor moment = named(bench.state, "optimizer.exp_avg_sq.host.2.weight");
  sync_groups(bench.state, bench.settings, bench.net.groups(Grouping::kTwo));
  CHECK(same_bits(named(bench.state, "optimizer.exp_avg_sq.host.2.weight"), moment));
  CHECK(bench.state.groups[1].id == "seed-0001");
}

TEST_CASE("an id that comes back with another shape is our bug") {
  Bench bench(adamw());
  auto groups = bench.net.groups();
  groups[0].parameters[0].tensor = at::ones({2, 2}).requires_grad_(true);
  CHECK_THROWS_AS(sync_groups(bench.state, bench.settings, groups), esper::base::Error);
}

TEST_CASE("sums of an epoch survive a change of structure in its middle") {
  Bench bench(plain_sgd());
  bench.step({samples(8)});
  sync_groups(bench.state, bench.settings, bench.net.groups(Grouping::kTwo));
  sync_groups(bench.state, bench.settings, bench.net.groups(Grouping::kTwo));
  const StepMetrics metrics = read_metrics(bench.state);
  CHECK(metrics.steps == 1);
  CHECK(metrics.group_gradient_norms.at("host") == metrics.gradient_norm);
  CHECK(metrics.group_gradient_norms.at("seed-0001") == 0);
}

TEST_CASE("names are unique and say what is kept") {
  const auto ids = [](const StepSettings& settings) {
    std::set<std::string> unique;
    Bench bench(settings);
    const auto all = named_tensors(bench.state);
    for (const auto& entry : all) unique.insert(entry.id);
    CHECK(unique.size() == all.size());
    return unique;
  };
  const auto plain = ids(plain_sgd());
  CHECK_FALSE(plain.contains("optimizer.momentum_buffer.host.1.weight"));
  CHECK(plain.contains("host.1.weight"));
  CHECK(plain.contains("optimizer.lr_scale.host"));
  CHECK(plain.contains("metrics.sums"));
  StepSettings momentum = plain_sgd();
  momentum.optimizer.momentum = 0.9;
  CHECK(ids(momentum).contains("optimizer.momentum_buffer.host.1.weight"));
  const auto all = ids(adamw_with_averages());
  CHECK(all.contains("optimizer.exp_avg.host.1.weight"));
  CHECK(all.contains("optimizer.exp_avg_sq.host.1.weight"));
  CHECK(all.contains("ema.host.1.weight"));
}

TEST_CASE("a state restored by name continues bit for bit") {
  StepSettings settings = adamw_with_averages();
  settings.clip_norm = 0.3;
  Bench first(settings), second(settings);
  for (int i = 0; i < 3; ++i) first.step({samples(8, i)});
  const auto saved = snapshot(first.state);
  {
    at::NoGradGuard no_grad;
    for (auto& entry : named_tensors(second.state)) entry.tensor.copy_(saved.at(entry.id));
  }
  first.step({samples(8, 9)});
  second.step({samples(8, 9)});
  const auto a = snapshot(first.state), b = snapshot(second.state);
  for (const auto& [id, tensor] : a) {
    INFO(id);
    CHECK(same_bits(tensor, b.at(id)));
  }
}

TEST_CASE("a group's scale slows it down, and to a standstill at zero") {
  StepSettings settings = adamw();
  settings.optimizer.weight_decay = 0.1;
  Bench bench(settings, Grouping::kTwo);
  for (auto& group : bench.state.groups) {
    if (group.id == "seed-0001") group.lr_scale.zero_();
  }
  const auto before = snapshot(bench.state);
  bench.step({samples(8)});
  CHECK(same_bits(bench.net.w2, before.at("host.2.weight")));
  CHECK_FALSE(same_bits(bench.net.w1, before.at("host.1.weight")));
}

}  // namespace esper::test::step_state_test
