#include "step/seed_sums.h"

#include <ATen/ATen.h>

#include <catch2/catch_test_macros.hpp>
#include <cmath>

namespace esper::test::seed_sums_test {

using namespace esper::step;

namespace {

using Names = std::vector<std::string>;

// Of a seed with a layer "up" of weight and bias, and a layer "down".
std::vector<SeedParameter> parameters_of(const Names& seeds) {
  std::vector<SeedParameter> parameters;
  for (std::size_t seed = 0; seed < seeds.size(); ++seed) {
    for (const auto* id : {"up.weight", "up.bias", "down.weight"}) {
      const std::string name = seeds[seed] + "." + id;
      parameters.push_back({name, seed, name.substr(0, name.rfind('.'))});
    }
  }
  return parameters;
}

void follow(SeedSums& sums, const Names& seeds) { sync_seed_sums(sums, seeds, parameters_of(seeds), torch::kCPU); }

std::vector<std::pair<std::string, SeedMetrics>> read(const SeedSums& sums) {
  const torch::Tensor all = at::cat({sums.figures.reshape({-1}), sums.layer_squares});
  return read_seed_sums(sums, all.const_data_ptr<double>());
}

}  // namespace

TEST_CASE("sums follow their seeds and parameters to other places; those of new ones begin at zero") {
  SeedSums sums;
  follow(sums, {"seed-0001", "seed-0002"});
  CHECK(sums.figures.abs().sum().item<double>() == 0);
  sums.figures[1].fill_(7);
  sums.layer_squares.copy_(at::arange(6, torch::kFloat64));
  follow(sums, {"seed-0002", "seed-0003"});
  CHECK(at::equal(sums.figures[0], at::full({kNumSeedFigures}, 7, torch::kFloat64)));
  CHECK(sums.figures[1].abs().sum().item<double>() == 0);
  CHECK(at::equal(sums.layer_squares, at::tensor({3.0, 4.0, 5.0, 0.0, 0.0, 0.0}, torch::kFloat64)));
}

TEST_CASE("while the seeds are the same, the sums stay in their memory") {
  SeedSums sums;
  follow(sums, {"seed-0001"});
  const void* figures = sums.figures.const_data_ptr();
  const void* squares = sums.layer_squares.const_data_ptr();
  follow(sums, {"seed-0001"});
  CHECK(sums.figures.const_data_ptr() == figures);
  CHECK(sums.layer_squares.const_data_ptr() == squares);
  sync_seed_sums(sums, {"seed-0001"}, {}, torch::kCPU);  // its layers are shown no more
  CHECK(sums.layer_squares.numel() == 0);
}

TEST_CASE("a checkpoint has no sums while no seed grows") {
  SeedSums sums;
  follow(sums, {});
  std::vector<kasmina::NamedTensor> named;
  append_named(sums, named);
  CHECK(named.empty());
  follow(sums, {"seed-0001"});
  append_named(sums, named);
  REQUIRE(named.size() == 2);
  CHECK(named[0].id == "metrics.seed_figures");
  CHECK(named[1].id == "metrics.seed_layers");
}

TEST_CASE("each seed has its own figures: means over its steps, totals, and its layers from the largest on") {
  SeedSums sums;
  follow(sums, {"seed-0001", "seed-0002"});
  const torch::Tensor second = sums.figures[1];
  second[kSeedSteps] = 4;
  second[kSeedWeight] = 6;
  second[kSeedTeacherShare] = 1;
  second[kSeedConflicts] = 3;
  second[kSeedComparisons] = 8;
  second[kIsolationDot] = -2;
  second[kIsolationViolations] = 5;
  sums.layer_squares.copy_(at::tensor({9.0, 9.0, 9.0, 12.0, 24.0, 400.0}, torch::kFloat64));
  const auto seeds = read(sums);
  REQUIRE(seeds.size() == 2);
  const auto& [id, metrics] = seeds[1];
  CHECK(id == "seed-0002");
  CHECK(metrics.weight == 1.5);
  CHECK(metrics.teacher_share == 0.25);
  CHECK(metrics.conflicts == 3);
  CHECK(metrics.comparisons == 8);
  CHECK(metrics.isolation_dot == -0.5);
  CHECK(metrics.isolation_violations == 5);
  REQUIRE(metrics.layers.size() == 2);
  CHECK(metrics.layers[0] == std::pair<std::string, double>("seed-0002.down", 10));
  CHECK(metrics.layers[1] == std::pair<std::string, double>("seed-0002.up", 3));
}

TEST_CASE("a seed without a step counts once in the sum, and none of its figures is NaN") {
  SeedSums sums;
  follow(sums, {"seed-0001"});
  const auto seeds = read(sums);
  REQUIRE(seeds.size() == 1);
  CHECK(seeds[0].second.weight == 1);
  CHECK(seeds[0].second.teacher_share == 0);
  CHECK(seeds[0].second.isolation_dot == 0);
  for (const auto& [layer, norm] : seeds[0].second.layers) CHECK(norm == 0);
}

}  // namespace esper::test::seed_sums_test
