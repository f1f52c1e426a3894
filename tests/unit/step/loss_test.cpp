#include "step/loss.h"

#include <catch2/catch_test_macros.hpp>

#include "support/step_fixture.h"

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
      const torch::Tensor gradient = cross_entropy(prediction, {smoothing, weight}, {sum, total_weight});
      CHECK(sum.sub(loss).abs().item<double>() <= 1e-6 * loss.item<double>());
      CHECK(largest_difference(gradient, logits.grad()) < 1e-6);
      CHECK(hits(prediction).sum().item<std::int64_t>() == logits.argmax(1).eq(targets).sum().item<std::int64_t>());
      if (smoothing == 0) CHECK(same_bits(cross_entropy_sum(prediction), sum));
    }
  }
}
