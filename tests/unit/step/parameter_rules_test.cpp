// Learning rates and weight decay of single parameters, against torch.optim's parameter groups.

#include "step/rates/parameter_rules.h"

#include <torch/optim/adamw.h>
#include <torch/optim/sgd.h>

#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <catch2/matchers/catch_matchers.hpp>

#include "step/optimizer.h"
#include "step/step_state.h"

namespace esper::step::parameter_rules_test {
namespace {

using config::OptimizerKind;

StepSettings settings_of(OptimizerKind kind) {
  StepSettings settings;
  settings.optimizer.kind = kind;
  settings.optimizer.lr = 0.1;
  settings.optimizer.weight_decay = 0.2;
  settings.rules = {{"a.*:lr=0.5", "*.tuned:lr=2,weight_decay=0.01"}, false};
  return settings;
}

}  // namespace

TEST_CASE("the first rule that fits counts, and what has one dimension need not decay") {
  const std::vector<std::string> ids{"host.a.weight", "host.a.bias", "host.b.tuned", "host.b.weight", "seed-0001.bias"};
  const std::vector<torch::Tensor> parameters{at::ones({2, 2}), at::ones({2}), at::ones({1, 2}), at::ones({1, 1}),
                                              at::ones({1})};
  const auto settings = settings_of(OptimizerKind::kSgd);
  const auto factors = element_factors(settings.rules, settings.optimizer, ids, parameters);
  CHECK(at::equal(factors.lr, at::tensor({.5f, .5f, .5f, .5f, .5f, .5f, 2.f, 2.f, 1.f, 1.f})));
  CHECK(at::allclose(factors.decay, at::tensor({.2f, .2f, .2f, .2f, 0.f, 0.f, .01f, .01f, .2f, 0.f})));
  CHECK_FALSE(element_factors({}, settings.optimizer, ids, parameters).lr.defined());
}

TEST_CASE("rules are of the host's parameters alone, and one that fits none of them is refused") {
  const std::vector<std::string> ids{"host.layer1.weight", "seed-0001.weight"};
  const std::vector<torch::Tensor> parameters{at::ones({1, 1}), at::ones({1, 1})};
  ParameterRules rules{{"*:lr=0.5"}, true};
  const auto factors = element_factors(rules, config::OptimizerConfig{}, ids, parameters);
  CHECK(at::equal(factors.lr, at::tensor({.5f, 1.f})));
  const std::vector<kasmina::NamedTensor> host{{ids[0], parameters[0]}};
  check_rules(rules, host);
  rules.groups = {"layer1.wieght:lr=0.1"};
  CHECK_THROWS_WITH(check_rules(rules, host),
                    "training.groups: \"layer1.wieght\" matches no parameter of the host; did you mean layer1.weight?");
  rules.groups = {"features.*:lr=0.1"};
  CHECK_THROWS_WITH(check_rules(rules, host),
                    "training.groups: \"features.*\" matches no parameter of the host; its parameters: layer1.weight");
}

TEST_CASE("updates are those of torch.optim with parameter groups") {
  const auto kind = GENERATE(OptimizerKind::kSgd, OptimizerKind::kAdamw);
  const bool foreach = GENERATE(true, false);
  auto settings = settings_of(kind);
  settings.optimizer.foreach = foreach;
  at::manual_seed(3);
  const std::vector<std::string> ids{"host.a.weight", "host.a.bias", "host.b.tuned", "host.b.weight"};
  std::vector<kasmina::NamedTensor> own;
  std::vector<torch::Tensor> theirs;
  for (const auto& id : ids) {
    own.push_back({id, id == "host.a.bias" ? at::randn({3}) : at::randn({3, 2})});
    theirs.push_back(own.back().tensor.clone().requires_grad_());
    own.back().tensor.requires_grad_();
  }
  auto state = make_step_state(settings, torch::kCPU);
  const std::vector<kasmina::ParameterGroup> groups{{"host", "host", own}};
  sync_groups(state, settings, groups);

  const std::vector<std::pair<double, double>> expected{{0.05, 0.2}, {0.05, 0.0}, {0.2, 0.01}, {0.1, 0.2}};
  std::unique_ptr<torch::optim::Optimizer> reference;
  std::vector<torch::optim::OptimizerParamGroup> their_groups;
  for (std::size_t i = 0; i < theirs.size(); ++i) {
    const auto [lr, decay] = expected[i];
    std::unique_ptr<torch::optim::OptimizerOptions> options;
    if (kind == OptimizerKind::kSgd) {
      options =
          std::make_unique<torch::optim::SGDOptions>(torch::optim::SGDOptions(lr).momentum(0.9).weight_decay(decay));
    } else {
      options = std::make_unique<torch::optim::AdamWOptions>(torch::optim::AdamWOptions(lr).weight_decay(decay));
    }
    their_groups.emplace_back(std::vector<torch::Tensor>{theirs[i]}, std::move(options));
  }
  if (kind == OptimizerKind::kSgd) {
    reference = std::make_unique<torch::optim::SGD>(their_groups, torch::optim::SGDOptions(0.1));
  } else {
    reference = std::make_unique<torch::optim::AdamW>(their_groups, torch::optim::AdamWOptions(0.1));
  }
  const at::NoGradGuard no_grad;
  for (int step = 0; step < 5; ++step) {
    auto& group = state.groups.front();
    for (std::size_t i = 0; i < theirs.size(); ++i) {
      const auto gradient = at::randn(theirs[i].sizes());
      group.gradients.views[i].copy_(gradient);
      theirs[i].mutable_grad() = gradient.clone();
    }
    update_scalars(state.scalars, state.lr, settings.optimizer);
    update_parameters(group, settings.optimizer);
    reference->step();
  }
  for (std::size_t i = 0; i < theirs.size(); ++i) {
    INFO(ids[i]);
    CHECK(at::allclose(own[i].tensor, theirs[i], 1e-5, 1e-6));
  }
}

}  // namespace esper::step::parameter_rules_test
