#include "tamiyo/network/initial_weights.h"

#include <ATen/Functions.h>

#include <catch2/catch_test_macros.hpp>

#include "outputs.h"
#include "tamiyo/network/policy_network.h"

namespace esper::test::initial_weights_test {

using namespace esper;
using namespace esper::tamiyo;

TEST_CASE("a fresh policy waits, whatever it sees") {
  PolicyNetwork network(initial_weights(3));
  for (std::size_t i = 0; i < kGraphShapes.size(); ++i) {
    const auto outputs = network.run(random_graph(kGraphShapes[i], i));
    REQUIRE(outputs);
    CHECK(outputs->policy_logits[0] == 0.5F);
    for (std::size_t action = 1; action < kPolicyActions; ++action) CHECK(outputs->policy_logits[action] == -0.5F);
  }
}

TEST_CASE("initial weights depend on the seed alone") {
  const Weights a = initial_weights(1), same = initial_weights(1), other = initial_weights(2);
  for (const auto& [name, tensor] : a) {
    INFO(name);
    CHECK(at::equal(tensor, same.at(name)));
  }
  CHECK(!at::equal(a.at("value.weight"), other.at("value.weight")));
}

TEST_CASE("initial weights have the ranges of PyTorch Geometric's") {
  const Weights weights = initial_weights(1);
  const auto largest = [&](const char* name) { return weights.at(name).abs().max().item<double>(); };
  const auto is_close_below = [](double value, double bound) { return value <= bound && value > 0.98 * bound; };
  CHECK(is_close_below(largest("encoders.global.0.weight"), std::sqrt(6.0 / (256 + 16))));
  CHECK(is_close_below(largest("convs.0.convs.<seed___peer___seed>.lin_r.weight"), 1.0 / 16));
  CHECK(is_close_below(largest("convs.0.convs.<seed___peer___seed>.lin_l.bias"), 1.0 / 16));
  CHECK(is_close_below(largest("convs.2.convs.<seed___peer___seed>.lin_src.weight"), std::sqrt(6.0 / (512 + 256))));
  CHECK(is_close_below(largest("convs.3.convs.<seed___peer___seed>.att_src"), std::sqrt(6.0 / (4 + 128))));
  CHECK(largest("convs.3.convs.<seed___peer___seed>.bias") == 0);
  CHECK(largest("encoders.layer.0.bias") == 0);
  CHECK(at::equal(weights.at("encoders.layer.2.weight"), at::ones({256})));
  CHECK(is_close_below(largest("policy_params.0.weight"), 1 / std::sqrt(128.0)));
}

}  // namespace esper::test::initial_weights_test
