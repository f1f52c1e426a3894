#include "step/loss.h"

#include <catch2/catch_test_macros.hpp>

#include "support/models/step_fixture.h"

namespace esper::test::loss_test {

using namespace esper::base;
using namespace esper::step;
using namespace esper::test;

// Shapes on both sides of where the logits are turned over.
TEST_CASE("loss and gradient are PyTorch's, for few and many classes and samples") {
  for (const auto& [count, classes] :
       std::vector<std::pair<std::int64_t, std::int64_t>>{{1, 2}, {15, 10}, {16, 15}, {16, 16}, {100, 3}, {33, 65}}) {
    for (const double smoothing : {0.0, 0.2}) {
      CAPTURE(count, classes, smoothing);
      const torch::Tensor logits = at::arange(count * classes, torch::kFloat32)
                                       .mul(12.9898)
                                       .sin()
                                       .mul(20)
                                       .reshape({count, classes})
                                       .requires_grad_(true);
      const torch::Tensor targets = at::arange(count, torch::kInt64).mul(7).remainder(classes);
      const torch::Tensor loss = at::cross_entropy_loss(logits, targets, {}, at::Reduction::Sum, -100, smoothing);
      loss.mul(0.5).backward();
      at::NoGradGuard no_grad;
      torch::Tensor sum = at::zeros({}), total_weight = at::zeros({});
      const torch::Tensor weight = at::full({}, 0.5);
      const Prediction prediction{logits.detach(), targets};
      const torch::Tensor gradient = cross_entropy(prediction, {smoothing, weight, {}}, {sum, total_weight});
      CHECK(sum.sub(loss).abs().item<double>() <= 1e-6 * loss.item<double>());
      CHECK(largest_difference(gradient, logits.grad()) < 1e-6);
      CHECK(hits(prediction).sum().item<std::int64_t>() == logits.argmax(1).eq(targets).sum().item<std::int64_t>());
      if (smoothing == 0) CHECK(same_bits(cross_entropy_sum(prediction), sum));
    }
  }
}

TEST_CASE("class weights and label smoothing together are PyTorch's") {
  const torch::Tensor class_weights = torch::tensor({0.2F, 1.0F, 3.0F, 0.0F});
  for (const double smoothing : {0.0, 0.2}) {
    const torch::Tensor logits = at::arange(80, torch::kFloat32).mul(12.9898).sin().mul(9).reshape({20, 4});
    const torch::Tensor targets = at::arange(20, torch::kInt64).mul(7).remainder(4);
    const torch::Tensor leaf = logits.clone().requires_grad_(true);
    const torch::Tensor mean =
        at::cross_entropy_loss(leaf, targets, class_weights, at::Reduction::Mean, -100, smoothing);
    mean.backward();
    at::NoGradGuard no_grad;
    torch::Tensor sum = at::zeros({}), total_weight = at::zeros({});
    const torch::Tensor inverse = sum_of_weights(class_weights, targets).reciprocal();
    const torch::Tensor gradient =
        cross_entropy({logits, targets}, {smoothing, inverse, class_weights}, {sum, total_weight});
    CHECK(largest_difference(sum.mul(inverse), mean) <= 2e-6 * mean.item<double>());
    CHECK(largest_difference(gradient, leaf.grad()) < 1e-6);
  }
}

TEST_CASE("pixels have their classes in the first dimension of a sample") {
  const torch::Tensor leaf = at::arange(2 * 3 * 4 * 5, torch::kFloat32).mul(12.9898).sin().reshape({2, 3, 4, 5});
  leaf.requires_grad_(true);
  const torch::Tensor targets = at::arange(2 * 4 * 5, torch::kInt64).remainder(3).reshape({2, 4, 5});
  at::cross_entropy_loss(leaf, targets, {}, at::Reduction::Sum).backward();
  at::NoGradGuard no_grad;
  torch::Tensor sum = at::zeros({}), total_weight = at::zeros({});
  const Prediction prediction = flatten(leaf.detach(), targets);
  CHECK(prediction.logits.sizes() == at::IntArrayRef{40, 3});
  const torch::Tensor gradient = cross_entropy(prediction, {0, at::ones({}), {}}, {sum, total_weight});
  CHECK(largest_difference(unflatten(gradient, leaf.detach(), targets), leaf.grad()) < 1e-6);
  CHECK(hits(prediction).sum().item<std::int64_t>() == leaf.argmax(1).eq(targets).sum().item<std::int64_t>());
}

TEST_CASE("float targets keep their shape, and a vector of outputs is one column") {
  const Prediction column = flatten(at::ones({5, 1}, torch::kHalf), at::zeros({5}));
  CHECK(column.logits.sizes() == at::IntArrayRef{5, 1});
  CHECK(column.logits.scalar_type() == torch::kFloat32);
  CHECK(column.targets.sizes() == at::IntArrayRef{5, 1});
  CHECK_THROWS(flatten(at::ones({5, 1}), at::zeros({5, 3})));
}

}  // namespace esper::test::loss_test
