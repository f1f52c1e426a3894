#include "tamiyo/network/weights.h"

#include <ATen/Functions.h>

#include <catch2/catch_test_macros.hpp>

#include "tamiyo/network/initial_weights.h"

namespace esper::test::weights_test {

using namespace esper::tamiyo;

TEST_CASE("a fingerprint changes with any bit of the weights") {
  Weights weights = initial_weights(1);
  const std::string before = fingerprint(weights);
  CHECK(before.size() == 16);
  CHECK(fingerprint(initial_weights(1)) == before);
  CHECK(fingerprint(initial_weights(2)) != before);
  weights["value.bias"] = at::full({1}, -0.0);
  const std::string negative = fingerprint(weights);
  weights["value.bias"] = at::full({1}, 0.0);
  CHECK(fingerprint(weights) != negative);
}

}  // namespace esper::test::weights_test
