#include "step/gradients/gradient_surgery.h"

#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <map>

namespace esper::test::gradient_surgery_test {

namespace {

using esper::step::project_conflicts;
using esper::step::projection_order;
using esper::step::Surgery;

const auto kReal = torch::dtype(torch::kFloat64);

torch::Tensor rows(const std::vector<std::vector<double>>& values) {
  std::vector<torch::Tensor> stacked;
  for (const auto& row : values) stacked.push_back(at::tensor(row, kReal));
  return at::stack(stacked);
}

torch::Tensor order_of(const std::vector<std::vector<std::int64_t>>& values) {
  std::vector<torch::Tensor> stacked;
  for (const auto& row : values) stacked.push_back(at::tensor(row, torch::kInt64));
  return at::stack(stacked);
}

torch::Tensor operated(const torch::Tensor& vectors, const torch::Tensor& order) {
  return at::mm(project_conflicts(at::mm(vectors, vectors.t()), order).coefficients, vectors);
}

// The method as published, vector by vector.
torch::Tensor by_the_book(const torch::Tensor& vectors, const torch::Tensor& order) {
  std::vector<torch::Tensor> result;
  for (std::int64_t i = 0; i < vectors.size(0); ++i) {
    torch::Tensor own = vectors[i].clone();
    for (std::int64_t k = 0; k < order.size(1); ++k) {
      const torch::Tensor other = vectors[order[i][k].item<std::int64_t>()];
      const double product = own.dot(other).item<double>(), square = other.dot(other).item<double>();
      if (product < 0 && square > 0) own = own - product / square * other;
    }
    result.push_back(own);
  }
  return at::stack(result);
}

bool close(const torch::Tensor& a, const torch::Tensor& b) { return at::allclose(a, b, 1e-12, 1e-12); }

}  // namespace

TEST_CASE("two vectors in conflict lose what they hold against each other") {
  const auto vectors = rows({{1, 0}, {-1, 1}});
  const auto order = order_of({{1}, {0}});
  CHECK(close(operated(vectors, order), rows({{0.5, 0.5}, {0, 1}})));
  const Surgery surgery = project_conflicts(at::mm(vectors, vectors.t()), order);
  CHECK(close(surgery.coefficients, rows({{1, 0.5}, {1, 1}})));
  CHECK(close(surgery.conflicts, at::tensor({1.0, 1.0}, kReal)));
}

TEST_CASE("with three vectors the order of the projections counts") {
  const auto vectors = rows({{1, 0}, {-1, 2}, {-1, -1}});
  CHECK(close(operated(vectors, order_of({{1, 2}, {0, 2}, {0, 1}})), rows({{0.2, -0.2}, {-1, 1}, {-0.4, -0.2}})));
  CHECK(close(operated(vectors, order_of({{2, 1}, {2, 0}, {0, 1}})), rows({{0.2, 0.1}, {0, 1.5}, {-0.4, -0.2}})));
}

TEST_CASE("vectors that agree, and vectors of length zero, stay as they are, to the bit") {
  const auto agreeing = rows({{1, 2, 0}, {0.5, 1, 3}, {2, 0, 0.1}, {0, 0, 0}});
  const auto order = order_of({{1, 2, 3}, {0, 2, 3}, {3, 1, 0}, {0, 1, 2}});
  const Surgery surgery = project_conflicts(at::mm(agreeing, agreeing.t()), order);
  CHECK(at::equal(surgery.coefficients, at::eye(4, kReal)));
  CHECK(surgery.conflicts.sum().item<double>() == 0);
}

TEST_CASE("over inner products it is the published method, and none is held back by its last opponent") {
  at::manual_seed(7);
  for (int round = 0; round < 200; ++round) {
    const std::int64_t size = 2 + round % 5;
    const auto vectors = at::randn({size, 6}, kReal);
    const auto order = projection_order(at::tensor(round, torch::kInt64), size, 1337);
    const auto result = operated(vectors, order);
    CHECK(at::allclose(result, by_the_book(vectors, order), 1e-9, 1e-9));
    for (std::int64_t i = 0; i < size; ++i) {
      CHECK(result[i].norm().item<double>() <= vectors[i].norm().item<double>() + 1e-9);
      const auto last = vectors[order[i][size - 2].item<std::int64_t>()];
      CHECK(result[i].dot(last).item<double>() >= -1e-9);
    }
  }
}

TEST_CASE("of two vectors neither conflicts with the other's original afterwards, and neither grows") {
  at::manual_seed(8);
  for (int round = 0; round < 200; ++round) {
    const auto vectors = at::randn({2, 4}, kReal);
    const auto result = operated(vectors, order_of({{1}, {0}}));
    const auto products = at::mm(result, vectors.t());
    const auto before = at::mm(vectors, vectors.t());
    CHECK(products.min().item<double>() >= -1e-9);
    CHECK((products.diagonal() <= before.diagonal() + 1e-9).all().item<bool>());
  }
}

TEST_CASE("the order is a permutation of the others, repeatable, and shuffled fairly from step to step") {
  std::map<std::int64_t, int> first;
  for (int step = 0; step < 3000; ++step) {
    const auto order = projection_order(at::tensor(step, torch::kInt64), 4, 1337);
    CHECK(at::equal(order, projection_order(at::tensor(step, torch::kInt64), 4, 1337)));
    for (std::int64_t i = 0; i < 4; ++i) {
      auto sorted = std::get<0>(order[i].sort());
      std::vector<std::int64_t> others;
      for (std::int64_t j = 0; j < 4; ++j) {
        if (j != i) others.push_back(j);
      }
      REQUIRE(at::equal(sorted, at::tensor(others, torch::kInt64)));
    }
    ++first[order[0][0].item<std::int64_t>()];
  }
  for (const auto& [other, count] : first) CHECK(std::abs(count - 1000) < 120);
  CHECK_FALSE(at::equal(projection_order(at::tensor(5, torch::kInt64), 4, 1),
                        projection_order(at::tensor(5, torch::kInt64), 4, 2)));
}

}  // namespace esper::test::gradient_surgery_test
