#include "tolaria/evaluation/stacked_validation.h"

#include <ATen/Parallel.h>

#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_floating_point.hpp>

#include "kasmina/network/network_stacked.h"
#include "support/models/grown_network.h"

namespace esper::test::stacked_validation_test {

using step::Microbatch;
using tolaria::NextBatch;
using tolaria::StackedResult;
using tolaria::validate;
using tolaria::validate_stacked;
using tolaria::Validation;
using tolaria::ValidationResult;

namespace {

using Catch::Matchers::WithinAbs;
using Catch::Matchers::WithinRel;
using config::Composition;
using kasmina::Configuration;
using kasmina::Network;
using tests::all_on_and_off;
using tests::grown_cases;
using tests::grown_network;
using tests::GrownCase;

std::vector<Microbatch> data_of(const GrownCase& c) {
  at::manual_seed(4);
  std::vector<Microbatch> batches;
  for (const std::int64_t rows : {32, 32, 11}) {
    batches.push_back({tests::inputs_of(c.sample, rows), tests::targets_of(c.sample, rows)});
  }
  return batches;
}

NextBatch each_of(const std::vector<Microbatch>& batches) {
  return [&batches, next = std::size_t{0}]() mutable -> std::optional<Microbatch> {
    if (next == batches.size()) return std::nullopt;
    return batches[next++];
  };
}

ValidationResult plain(const Network& network, const std::vector<Microbatch>& batches, const Validation& validation) {
  return validate(
      each_of(batches), [&](const torch::Tensor& x) { return network.forward(x, kasmina::Mode::kEvaluate); },
      validation);
}

StackedResult stacked(const Network& network, const std::vector<Microbatch>& batches, std::int64_t max_rows,
                      const Validation& validation = {}) {
  const auto plan = kasmina::plan_stacked(network.state(), all_on_and_off(network));
  return validate_stacked(each_of(batches), {network, plan, max_rows}, validation);
}

void check_figures(const StackedResult& result, std::size_t at, const ValidationResult& expected) {
  CHECK_THAT(result.loss[at], WithinRel(expected.loss, 1e-5));
  CHECK(result.score[at] == expected.score);
  CHECK(result.targets == expected.targets);
}

}  // namespace

TEST_CASE("as it runs, a stacked pass has the loss and accuracy of a plain one, whatever the size of its pieces") {
  at::set_num_threads(1);
  for (const auto& c : grown_cases()) {
    const auto network = grown_network(c, Composition::kAdd, {0.3, 1, 0.6, 1});
    const auto batches = data_of(c);
    const auto expected = plain(*network, batches, {});
    for (const std::int64_t max_rows : {1, 100, 160, 100'000}) {
      INFO(c.name << ", at most " << max_rows << " rows");
      const auto result = stacked(*network, batches, max_rows);
      REQUIRE(result.score.size() == 16);
      check_figures(result, 15, expected);
      double sum = 0;
      for (const float share : result.correct[15]) sum += share;
      CHECK(result.correct[15].size() == 75);
      CHECK_THAT(sum / 75, WithinAbs(expected.score, 1e-6));
    }
  }
}

TEST_CASE("with a seed off, a stacked pass has the figures of the network whose seed is at alpha 0") {
  at::set_num_threads(1);
  for (const auto& c : grown_cases()) {
    INFO(c.name);
    const auto network = grown_network(c, Composition::kGate, {0.3, 1, 0.6, 1});
    const auto batches = data_of(c);
    const auto result = stacked(*network, batches, 200);
    for (std::size_t off = 0; off < 4; ++off) {
      std::vector<double> alphas = {0.3, 1, 0.6, 1};
      alphas[off] = 0;
      tests::blend_to(*network, alphas);
      check_figures(result, 15 - (std::size_t{1} << off), plain(*network, batches, {}));
      tests::blend_to(*network, {0.3, 1, 0.6, 1});
    }
  }
}

TEST_CASE("in bf16 a stacked pass rounds as a plain one does") {
  at::set_num_threads(1);
  Validation bf16;
  bf16.compute_type = torch::kBFloat16;
  for (const auto& c : grown_cases()) {
    INFO(c.name);
    const auto network = grown_network(c, Composition::kConvex, {0.3, 1, 0.6, 1});
    const auto batches = data_of(c);
    const auto expected = plain(*network, batches, bf16);
    const auto result = stacked(*network, batches, 200, bf16);
    CHECK_THAT(result.loss[15], WithinRel(expected.loss, 2e-2));
    CHECK_THAT(result.score[15], WithinAbs(expected.score, 0.06));
  }
}

TEST_CASE("a stacked pass stops between pieces on request, and then has no values") {
  const auto c = grown_cases().front();
  const auto network = grown_network(c, Composition::kAdd, {0.3, 1, 0.6, 1});
  const auto batches = data_of(c);
  int polls = 0;
  Validation validation;
  validation.should_stop = [&] { return ++polls > 3; };
  const auto result = stacked(*network, batches, 16 * 16, validation);
  CHECK_FALSE(result.complete);
  CHECK(polls == 4);
  CHECK(result.score.empty());
  CHECK(stacked(*network, {}, 256).targets == 0);
}

}  // namespace esper::test::stacked_validation_test
