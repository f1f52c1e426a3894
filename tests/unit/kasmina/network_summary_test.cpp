#include "kasmina/network/network_summary.h"

#include <algorithm>
#include <catch2/catch_test_macros.hpp>

#include "growing.h"

namespace esper::kasmina::network_summary_test {
namespace {

Network perceptron(std::vector<std::string> freeze, std::size_t blocks = 2) {
  config::HostConfig host;
  host.hidden = std::vector<std::int64_t>(blocks, 8);
  host.freeze = std::move(freeze);
  return Network(host, config::GrowthConfig{}, tiny_sample(), 1, torch::kCPU);
}

std::vector<std::string> names_of(const NetworkSummary& summary) {
  std::vector<std::string> names;
  for (const auto& layer : summary.layers) names.push_back(layer.name);
  return names;
}

std::int64_t sum_of(const NetworkSummary& summary, std::int64_t LayerSummary::* count) {
  std::int64_t sum = 0;
  for (const auto& layer : summary.layers) sum += layer.*count;
  return sum;
}

}  // namespace

TEST_CASE("a summary has each layer with its shapes and counts, and what of it is frozen") {
  const Network network = perceptron({"block0.*", "head.bias"});
  const auto summary = summary_of(network.state());
  REQUIRE(names_of(summary) == std::vector<std::string>{"block0.linear", "block1.linear", "head"});
  const auto& first = summary.layers[0];
  CHECK(first.tensors == 2);
  CHECK(first.parameters == 4 * 8 + 8);
  CHECK(first.trainable == 0);
  REQUIRE(first.shapes.size() == 2);
  CHECK(first.shapes[0].name == "weight");
  CHECK(first.shapes[0].shape == std::vector<std::int64_t>{8, 4});
  CHECK(first.shapes[1].name == "bias");
  CHECK(summary.layers[1].trainable == summary.layers[1].parameters);
  CHECK(summary.layers[2].parameters == 8 * 3 + 3);
  CHECK(summary.layers[2].trainable == 8 * 3);
  CHECK(summary.more_layers == 0);
}

TEST_CASE("slots are there with their features, and with the seed that is in them") {
  Growing it;
  const auto before = summary_of(it.network.state());
  REQUIRE(before.slots.size() == 2);
  CHECK(before.slots[0].slot == "r0c0");
  CHECK(before.slots[0].kind == FeatureKind::kFeatures);
  CHECK(before.slots[0].shape == std::vector<std::int64_t>{12});
  CHECK_FALSE(before.slots[0].seed);
  it.germinate("r0c1", "mlp");
  const auto after = summary_of(it.network.state());
  CHECK_FALSE(after.slots[0].seed);
  REQUIRE(after.slots[1].seed);
  CHECK(after.slots[1].seed->blueprint == "mlp");
  CHECK(after.slots[1].seed->parameters == it.network.state().structure.slots[1].seed->module.tensors.num_parameters());
  CHECK(sum_of(after, &LayerSummary::parameters) == sum_of(before, &LayerSummary::parameters));
}

TEST_CASE("where nothing may grow there are no slots") {
  config::GrowthConfig growth = quick_growth();
  growth.enabled = false;
  CHECK(summary_of(Growing(growth).network.state()).slots.empty());
}

TEST_CASE("layers of a deep network are joined by the modules that they are in, and none is lost from the counts") {
  const Network network = perceptron({"block0.*"}, 12);
  const auto all = summary_of(network.state());
  CHECK(all.layers.size() == 13);
  const auto joined = summary_of(network.state(), 13);
  CHECK(names_of(joined) == names_of(all));
  // Already by their first modules, so the rest is left out.
  const auto cut = summary_of(network.state(), 5);
  CHECK(names_of(cut) == std::vector<std::string>{"block0", "block1", "block2", "block3", "block4"});
  CHECK(cut.more_layers == 8);
  CHECK(cut.slots.size() == 5);
  CHECK(cut.more_slots == 7);
  CHECK(cut.layers[0].trainable == 0);
  CHECK(cut.layers[0].shapes[0].name == "linear.weight");
}

TEST_CASE("a layer of many tensors has their number and no shapes") {
  config::HostConfig host;
  host.kind = config::HostKind::kTransformer;
  host.layers = 4;
  host.segments = 4;
  host.embedding = 8;
  host.heads = 2;
  const Network network(host, config::GrowthConfig{}, leyline::tokens_shape(16, 10), 1, torch::kCPU);
  const auto all = summary_of(network.state());
  CHECK(all.layers.size() > 10);
  const auto joined = summary_of(network.state(), 10);
  CHECK(joined.layers.size() < 10);
  CHECK(joined.more_layers == 0);
  CHECK(sum_of(joined, &LayerSummary::parameters) == sum_of(all, &LayerSummary::parameters));
  CHECK(sum_of(joined, &LayerSummary::tensors) == sum_of(all, &LayerSummary::tensors));
  const auto layer = std::ranges::find(joined.layers, "layer0", &LayerSummary::name);
  REQUIRE(layer != joined.layers.end());
  CHECK(layer->tensors > static_cast<std::int64_t>(kMostShapes));
  CHECK(layer->shapes.empty());
  CHECK(names_of(joined).front() == "tokens");
}

}  // namespace esper::kasmina::network_summary_test
