#include "config/facts/slot_geometry.h"

#include <catch2/catch_test_macros.hpp>

#include "config/facts/data_facts.h"

namespace esper::config::slot_geometry_test {
namespace {

using leyline::FeatureKind;

HostConfig host_of(HostKind kind) {
  HostConfig host;
  host.kind = kind;
  return host;
}

TEST_CASE("an mlp has a slot after each hidden layer, a linear host has none") {
  auto host = host_of(HostKind::kMlp);
  host.hidden = {12, 7};
  const auto slots = slot_geometry(host, {});
  REQUIRE(slots.size() == 2);
  CHECK(slots[0].id == "r0c0");
  CHECK(slots[1].id == "r0c1");
  CHECK(slots[1].shape.channels == 7);
  CHECK(slots[1].shape.positions() == 1);
  CHECK(slot_geometry(host_of(HostKind::kLinear), {}).empty());
}

TEST_CASE("a cnn's blocks double their channels; the first of them halve the image, where its size is known") {
  auto host = host_of(HostKind::kCnn);
  host.blocks = 3;
  host.base_channels = 8;
  host.pool_layers = 2;
  const auto slots = slot_geometry(host, leyline::image_shape(3, 9, 12, 10));
  REQUIRE(slots.size() == 3);
  CHECK(slots[0].shape.channels == 8);
  CHECK(slots[2].shape.channels == 32);
  CHECK(slots[0].shape.height == 4);
  CHECK(slots[1].shape.width == 3);
  CHECK(slots[2].shape.positions() == 6);
  for (const auto& slot : slot_geometry(host, {})) CHECK_FALSE(slot.shape.positions().has_value());
}

TEST_CASE("a transformer has a slot after each segment, as wide as its embedding and as long as the context") {
  auto host = host_of(HostKind::kTransformer);
  host.segments = 2;
  host.embedding = 24;
  DataConfig data;
  data.kind = DataKind::kText;
  data.context = 16;
  const auto slots = slot_geometry(host, known_sample(data));
  REQUIRE(slots.size() == 2);
  CHECK(slots[1].shape.kind == FeatureKind::kSequence);
  CHECK(slots[1].shape.channels == 24);
  CHECK(slots[1].shape.positions() == 16);
}

}  // namespace
}  // namespace esper::config::slot_geometry_test
