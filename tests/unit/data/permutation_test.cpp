#include "data/order/permutation.h"

#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <cmath>
#include <set>
#include <vector>

namespace esper::data::permutation_test {
namespace {

std::vector<std::int64_t> order_of(std::int64_t size, std::uint64_t seed, std::int64_t epoch) {
  const auto p = Permutation::of_epoch(size, seed, epoch);
  std::vector<std::int64_t> order;
  for (std::int64_t i = 0; i < size; ++i) order.push_back(p[i]);
  return order;
}

bool is_bijection(std::vector<std::int64_t> order) {
  std::sort(order.begin(), order.end());
  for (std::size_t i = 0; i < order.size(); ++i) {
    if (order[i] != static_cast<std::int64_t>(i)) return false;
  }
  return true;
}

TEST_CASE("an epoch's order holds every sample once, for every size") {
  for (std::int64_t size = 1; size <= 600; ++size) REQUIRE(is_bijection(order_of(size, 7, size)));
  for (const std::int64_t size : {1797, 4095, 4096, 4097, 50000, 65537, 1000003}) {
    REQUIRE(is_bijection(order_of(size, 1, 3)));
  }
}

TEST_CASE("orders differ between epochs and seeds, and never between runs") {
  const auto first = order_of(1000, 42, 0);
  CHECK(first == order_of(1000, 42, 0));
  CHECK(first != order_of(1000, 42, 1));
  CHECK(first != order_of(1000, 43, 0));
  // Fixed on purpose: another value here means that old runs no longer resume to the same samples.
  const Permutation pinned = Permutation::of_epoch(1797, 1337, 5);
  CHECK(std::vector{pinned[0], pinned[1], pinned[898], pinned[1796]} ==
        std::vector<std::int64_t>{1118, 1463, 532, 1353});
}

TEST_CASE("every sample is equally likely at every place") {
  constexpr int kEpochs = 20000;
  for (const std::int64_t size : {2, 3, 5, 10, 33}) {
    std::vector<double> count(static_cast<std::size_t>(size * size), 0.0);
    for (int epoch = 0; epoch < kEpochs; ++epoch) {
      const auto p = Permutation::of_epoch(size, 9, epoch);
      for (std::int64_t i = 0; i < size; ++i) count[static_cast<std::size_t>(i * size + p[i])] += 1;
    }
    const double expected = static_cast<double>(kEpochs) / static_cast<double>(size);
    double chi_squared = 0;
    for (const double seen : count) chi_squared += (seen - expected) * (seen - expected) / expected;
    // (size - 1)^2 degrees of freedom; six deviations above the mean.
    const double freedom = static_cast<double>((size - 1) * (size - 1));
    INFO("size " << size << ", chi squared " << chi_squared << " with " << freedom << " degrees of freedom");
    CHECK(chi_squared < freedom + 6 * std::sqrt(2 * freedom));
  }
}

TEST_CASE("neighbours in the order show no pattern") {
  constexpr std::int64_t kSize = 50000;
  const Permutation p = Permutation::of_epoch(kSize, 3, 0);
  std::set<std::int64_t> steps;
  double correlation = 0;
  for (std::int64_t i = 1; i < kSize; ++i) {
    steps.insert(p[i] - p[i - 1]);
    correlation += (static_cast<double>(p[i]) / kSize - 0.5) * (static_cast<double>(p[i - 1]) / kSize - 0.5);
  }
  // Independent neighbours: the sum has deviation sqrt(n) / 12, and most of the steps differ from each other.
  CHECK(std::abs(correlation) < 6 * std::sqrt(static_cast<double>(kSize)) / 12);
  CHECK(steps.size() > kSize / 2);
}

TEST_CASE("several at a time are the same as one by one") {
  for (const std::int64_t size : {1, 2, 16, 45, 1000, 70000}) {
    const Permutation order(size, 99);
    for (const std::int64_t first : {std::int64_t{0}, size / 3}) {
      std::vector<std::int64_t> together(static_cast<std::size_t>(std::min<std::int64_t>(size - first, 45)));
      order.fill(first, together);
      for (std::size_t i = 0; i < together.size(); ++i) {
        REQUIRE(together[i] == order[first + static_cast<std::int64_t>(i)]);
      }
    }
  }
}

}  // namespace
}  // namespace esper::data::permutation_test
