#include "step/gradients/flat_tensors.h"

#include <catch2/catch_test_macros.hpp>

#include "base/error.h"
#include "step/group_scalars.h"
#include "step/optimizer.h"
#include "support/call_counter.h"
#include "support/models/step_fixture.h"

namespace esper::test::flat_tensors_test {

using namespace esper::base;
using namespace esper::step;
using namespace esper::test;

TEST_CASE("tensors that move together keep what somebody else sees in them") {
  const torch::Tensor a = at::arange(6, torch::kFloat32).view({2, 3}).requires_grad_(true);
  const torch::Tensor b = at::full({1}, 7.0f), handle = a;
  FlatTensors flat = move_together({a, b}, torch::kCPU);
  CHECK(same_bits(flat.flat, at::cat({at::arange(6, torch::kFloat32), at::full({1}, 7.0f)})));
  CHECK(handle.is_alias_of(flat.flat));
  CHECK(flat.views[0].is_same(a));
  CHECK(in_place(flat));
  move_into(flat, flat.views);
  CHECK(same_bits(flat.flat, at::cat({at::arange(6, torch::kFloat32), at::full({1}, 7.0f)})));
  move_together({a}, torch::kCPU);
  CHECK_FALSE(in_place(flat));
}

TEST_CASE("views lie at multiples of the alignment, and joined parts lie where the views do") {
  const std::vector<torch::Tensor> shapes{at::ones({2, 3}), at::ones({8}), at::ones({}), at::ones({9})};
  const Layout without_gaps = layout_of(shapes, 1), aligned = layout_of(shapes, 8);
  CHECK(without_gaps.begins == std::vector<std::int64_t>{0, 6, 14, 15});
  CHECK(without_gaps.size == 24);
  CHECK(aligned.begins == std::vector<std::int64_t>{0, 8, 16, 24});
  CHECK(aligned.size == 40);
  std::vector<torch::Tensor> parts;
  for (const torch::Tensor& shape : shapes) parts.push_back(shape.reshape({-1}) * 2);
  CHECK(same_bits(at::cat(with_gaps(parts, 1)), at::full({24}, 2.0f)));
  const torch::Tensor joined = at::cat(with_gaps(parts, 8));
  REQUIRE(joined.numel() == aligned.size);
  CHECK(joined.sum().item<float>() == 48);
  for (std::size_t i = 0; i < shapes.size(); ++i) {
    CHECK(joined.narrow(0, aligned.begins[i], shapes[i].numel()).eq(2).all().item<bool>());
  }
}

TEST_CASE("only float32 tensors move") {
  CHECK_THROWS_AS(move_together({at::ones({2}, torch::kFloat64)}, torch::kCPU), esper::base::Error);
}

TEST_CASE("an update takes as many operator calls for many parameters as for one") {
  const auto calls = [](std::vector<torch::Tensor> parameters) {
    GroupState group;
    group.parameters = move_together(parameters, torch::kCPU);
    group.gradients = flat_zeros(parameters, torch::kCPU);
    group.first_moments = flat_zeros(parameters, torch::kCPU);
    group.second_moments = flat_zeros(parameters, torch::kCPU);
    group.rate = group.eps = group.decay = at::ones({});
    const CallCounter counter;
    update_parameters(group, adamw().optimizer);
    return CallCounter::calls();
  };
  CHECK(calls({at::ones({8})}) == calls({at::ones({8}), at::ones({2, 2}), at::ones({})}));
}

}  // namespace esper::test::flat_tensors_test
