#include "tamiyo/network/bf16_products.h"

#include <ATen/Functions.h>

#include <catch2/catch_test_macros.hpp>
#include <cmath>

#include "tamiyo/network/agreement.h"
#include "tamiyo/network/sample_graphs.h"

namespace esper::test::bf16_products_test {

using tamiyo::Agreement;
using tamiyo::dense_weights;
using tamiyo::PolicyNetwork;
using tamiyo::Weights;

namespace {

constexpr char kNoProducts[] = "this processor has no bf16 products";

Agreement bf16_against_fp32(const Weights& weights) {
  PolicyNetwork exact(weights), rounded(in_bf16(exact.weights()));
  return compare_decisions(rounded, exact);
}

}  // namespace

TEST_CASE("the network decides in bf16 as in fp32") {
  if (!tamiyo::has_bf16_products(c10::kCPU)) SKIP(kNoProducts);
  const Agreement found = bf16_against_fp32(dense_weights());
  INFO(found.same << " of " << found.graphs << ", numbers differ by up to " << found.largest_difference);
  CHECK(agree(found));
  CHECK(found.graphs == tamiyo::kAgreementGraphs);
  // fp32's own rounding is far below: the products were indeed computed in bf16.
  CHECK(found.largest_difference > 1e-4F);
}

TEST_CASE("networks that decide otherwise are told apart") {
  Weights weights = dense_weights();
  PolicyNetwork network(weights), same(weights);
  const Agreement equal = compare_decisions(same, network);
  CHECK((equal.same == equal.graphs && equal.largest_difference == 0));

  weights.at("policy_logits.bias") = weights.at("policy_logits.bias").clone();
  weights.at("policy_logits.bias")[3] += 1000;
  PolicyNetwork other(weights);
  const Agreement found = compare_decisions(other, network);
  CHECK(found.same < found.graphs / 2);
  CHECK_FALSE(agree(found));
  // A difference that changes no decision is one as well.
  CHECK_FALSE(tamiyo::agree({.graphs = 60, .same = 60, .largest_difference = 0.5F}));
  CHECK_FALSE(tamiyo::agree({.graphs = 60, .same = 60, .largest_difference = NAN}));
  CHECK_FALSE(tamiyo::agree({.graphs = 60, .same = 58, .largest_difference = 0}));
}

TEST_CASE("a network in bf16 is not recorded") {
  if (!tamiyo::has_bf16_products(c10::kCPU)) SKIP(kNoProducts);
  const tamiyo::FoldedWeights rounded = in_bf16(tamiyo::fold(dense_weights()));
  tamiyo::PaddedNetwork network(rounded, {1, 4, 4, 4, 4, 4});
  const auto recorded = network.record();
  REQUIRE_FALSE(recorded);
  CHECK(recorded.error() == "the network's packed weights cannot be recorded");
  CHECK(network.form() == tamiyo::NetworkForm::kEager);
}

TEST_CASE("a network in bf16 needs half the memory for its layers") {
  if (!tamiyo::has_bf16_products(c10::kCPU)) SKIP(kNoProducts);
  const tamiyo::FoldedWeights exact = tamiyo::fold(dense_weights()), rounded = in_bf16(exact);
  for (std::size_t layer = 0; layer < exact.layers.size(); ++layer) {
    for (std::size_t i = 0; i < exact.layers[layer].targets.size(); ++i) {
      const auto& target = rounded.layers[layer].targets[i];
      CHECK_FALSE(target.weight.defined());
      CHECK(target.packed.numel() == exact.layers[layer].targets[i].weight.numel());
      CHECK(target.packed.scalar_type() == at::kBFloat16);
    }
  }
}

}  // namespace esper::test::bf16_products_test
