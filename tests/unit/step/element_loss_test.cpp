#include "step/element_loss.h"

#include <catch2/catch_test_macros.hpp>

#include "support/models/step_fixture.h"

namespace esper::test::element_loss_test {

using namespace esper::base;
using namespace esper::step;
using namespace esper::test;
using esper::config::LossKind;

namespace {

torch::Tensor outputs() { return at::arange(24, torch::kFloat32).mul(12.9898).sin().mul(30).reshape({8, 3}); }
torch::Tensor values() { return at::arange(24, torch::kFloat32).mul(7.7).cos().mul(25).reshape({8, 3}); }
torch::Tensor labels() { return at::arange(24).remainder(5).lt(2).to(torch::kFloat32).reshape({8, 3}); }

// What autograd makes of PyTorch's own loss, times a weight of 0.5.
struct Reference {
  torch::Tensor sum, gradient;
};

template <class Loss>
Reference reference(const Loss& loss) {
  const torch::Tensor logits = outputs().requires_grad_(true);
  const torch::Tensor sum = loss(logits);
  sum.mul(0.5).backward();
  return {sum.detach(), logits.grad()};
}

void check(const LossSettings& settings, const torch::Tensor& targets, const torch::Tensor& class_weights,
           const Reference& expected) {
  torch::Tensor sum = at::zeros({}), total_weight = at::zeros({});
  const torch::Tensor weight = at::full({}, 0.5);
  const Prediction prediction{outputs(), targets};
  const torch::Tensor gradient = loss_gradient(settings, prediction, {0, weight, class_weights}, {sum, total_weight});
  CHECK(largest_difference(sum, expected.sum) <= 2e-6 * expected.sum.abs().item<double>());
  CHECK(largest_difference(gradient, expected.gradient) <= 1e-6 * expected.gradient.abs().max().item<double>());
  if (class_weights.defined()) return;
  CHECK(target_losses(settings, prediction).sizes() == targets.sizes());
  CHECK(largest_difference(loss_sum(settings, prediction), sum) <= 2e-6 * sum.item<double>());
}

}  // namespace

TEST_CASE("BCE, MSE and Huber with their gradients are PyTorch's") {
  const auto sum = at::Reduction::Sum;
  SECTION("BCE") {
    check({.kind = LossKind::kBce}, labels(), {}, reference([&](const torch::Tensor& x) {
            return at::binary_cross_entropy_with_logits(x, labels(), {}, {}, sum);
          }));
  }
  SECTION("BCE with class weights") {
    const torch::Tensor weights = torch::tensor({0.5F, 2.0F, 0.0F});
    check({.kind = LossKind::kBce}, labels(), weights, reference([&](const torch::Tensor& x) {
            return at::binary_cross_entropy_with_logits(x, labels(), weights, {}, sum);
          }));
  }
  SECTION("MSE") {
    check({.kind = LossKind::kMse}, values(), {},
          reference([&](const torch::Tensor& x) { return at::mse_loss(x, values(), sum); }));
  }
  SECTION("Huber") {
    check({.kind = LossKind::kHuber, .huber_delta = 3}, values(), {},
          reference([&](const torch::Tensor& x) { return at::huber_loss(x, values(), sum, 3); }));
  }
}

TEST_CASE("BCE stays finite where the probability is 0 or 1 in float32") {
  torch::Tensor sum = at::zeros({}), total_weight = at::zeros({});
  const Prediction sure{torch::tensor({{200.0F, -200.0F}}), torch::tensor({{1.0F, 1.0F}})};
  const torch::Tensor gradient =
      loss_gradient({.kind = LossKind::kBce}, sure, {0, at::ones({}), {}}, {sum, total_weight});
  CHECK(sum.item<float>() == 200);
  CHECK(gradient.equal(torch::tensor({{0.0F, -1.0F}})));
}

TEST_CASE("a label is hit on its target's side of one half") {
  const Prediction prediction{torch::tensor({{2.0F, -1.0F, 0.0F}}), torch::tensor({{1.0F, 1.0F, 0.0F}})};
  CHECK(label_hits(prediction).equal(torch::tensor({{true, false, true}})));
}

}  // namespace esper::test::element_loss_test
