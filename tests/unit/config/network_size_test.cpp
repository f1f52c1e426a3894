#include "config/facts/network_size.h"

#include <catch2/catch_test_macros.hpp>

namespace esper::test::network_size_test {

using namespace esper::config;
using namespace esper::leyline;

TEST_CASE("parameters of a linear host and of an mlp") {
  HostConfig host;
  host.kind = HostKind::kLinear;
  CHECK(host_size(host, features_shape(64, 10))->parameters == 65 * 10);
  host.kind = HostKind::kMlp;
  host.hidden = {32, 16};
  CHECK(host_size(host, features_shape(64, 10))->parameters == 65 * 32 + 33 * 16 + 17 * 10);
  // Images are flattened.
  CHECK(host_size(host, image_shape(1, 8, 8, 10))->parameters == host_size(host, features_shape(64, 10))->parameters);
}

TEST_CASE("parameters and statistics of a cnn") {
  HostConfig host;
  host.kind = HostKind::kCnn;
  host.blocks = 2, host.base_channels = 8, host.pool_layers = 1, host.residual_blocks = 1;
  const auto size = host_size(host, image_shape(3, 32, 32, 10));
  const std::int64_t first = 8 * 3 * 9 + 16 + 2 * (8 * 8 * 9 + 16);
  const std::int64_t second = 16 * 8 * 9 + 32 + 2 * (16 * 16 * 9 + 32);
  CHECK(size->parameters == first + second + 17 * 10);
  CHECK(size->buffers == 3 * (16 + 1) + 3 * (32 + 1));
}

TEST_CASE("parameters of a transformer, whose head is its embedding") {
  HostConfig host;
  host.kind = HostKind::kTransformer;
  host.layers = 2, host.embedding = 16, host.heads = 2, host.segments = 2;
  const std::int64_t layer = 2 * 2 * 16 + (16 * 48 + 48) + (16 * 16 + 16) + (16 * 64 + 64) + (64 * 16 + 16);
  CHECK(host_size(host, tokens_shape(32, 65))->parameters == 65 * 16 + 32 * 16 + 2 * layer + 2 * 16);
}

TEST_CASE("modules that the host has from the start are part of it") {
  HostConfig host;
  host.hidden = {32};
  const auto plain = host_size(host, features_shape(8, 4))->parameters;
  host.modules = {"r0c0=linear"};
  CHECK(host_size(host, features_shape(8, 4))->parameters == plain + 32 * 32 + 32);
}

TEST_CASE("growth adds at most the largest allowed module in each slot") {
  RunConfig config;
  config.host.hidden = {32, 16};
  config.growth.blueprints = {"norm", "linear"};
  const auto sample = features_shape(8, 4);
  CHECK(most_growth(config, sample).parameters == 32 * 33 + 16 * 17);
  config.growth.slots = {"r0c1"};
  CHECK(most_growth(config, sample).parameters == 16 * 17);
  config.growth.blueprints = {"linear*3"};
  CHECK(most_growth(config, sample).parameters == 3 * 16 * 17);
  config.growth.blueprints.clear();  // all that grow unnamed: an mlp of twice the width is the largest
  CHECK(most_growth(config, sample).parameters == 4 * 16 * 16 + 3 * 16);
  config.policy.kind = PolicyKind::kNone;
  CHECK(most_growth(config, sample).parameters == 0);
}

TEST_CASE("a schedule grows what it names") {
  RunConfig config;
  config.host.hidden = {32, 16};
  config.policy.kind = PolicyKind::kSchedule;
  config.policy.schedule = {"2:r0c0=norm", "50%:r0c0=linear"};
  CHECK(most_growth(config, features_shape(8, 4)).parameters == 32 * 33);
}

}  // namespace esper::test::network_size_test
