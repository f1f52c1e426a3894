#include "tolaria/growth/host_blocks.h"

#include <ATen/ops/zeros.h>

#include <catch2/catch_test_macros.hpp>
#include <string>
#include <vector>

namespace esper::tolaria::host_blocks_test {
namespace {

using kasmina::NamedTensor;
using leyline::ActivationKind;
using leyline::BlockKind;

std::vector<NamedTensor> of_sizes(const std::vector<std::pair<std::string, std::int64_t>>& sizes) {
  std::vector<NamedTensor> tensors;
  for (const auto& [id, size] : sizes) tensors.push_back({id, at::zeros({size})});
  return tensors;
}

TEST_CASE("an mlp's blocks are its hidden layers and its head") {
  config::HostConfig host;
  host.hidden = {8, 4};
  host.dropout = 0.25;
  const auto blocks = host_blocks(host, of_sizes({{"host.block0.linear.weight", 80},
                                                  {"host.block0.linear.bias", 8},
                                                  {"host.block1.linear.weight", 32},
                                                  {"host.block1.linear.bias", 4},
                                                  {"host.head.weight", 12},
                                                  {"host.head.bias", 3}}));
  REQUIRE(blocks.size() == 3);
  CHECK(blocks[0].id == "host.block0");
  CHECK(blocks[0].slot == "r0c0");
  CHECK(blocks[0].kind == BlockKind::kDense);
  CHECK(blocks[0].activation == ActivationKind::kRelu);
  CHECK(blocks[0].params == 88);
  CHECK(blocks[1].slot == "r0c1");
  CHECK(blocks[1].activation_units == 4);
  CHECK(blocks[1].dropout == 0.25);
  CHECK(blocks[2].id == "host.head");
  CHECK(blocks[2].slot.empty());
  CHECK(blocks[2].kind == BlockKind::kHead);
  CHECK(blocks[2].activation == ActivationKind::kNone);
  CHECK(blocks[2].dropout == 0);
  CHECK_FALSE(blocks[0].weight_norm);
}

TEST_CASE("a cnn's block holds its residual blocks") {
  config::HostConfig host;
  host.kind = config::HostKind::kCnn;
  host.base_channels = 8;
  const auto blocks = host_blocks(host, of_sizes({{"host.block0.conv.weight", 72},
                                                  {"host.block0.norm.weight", 8},
                                                  {"host.block0.residual0.conv1.weight", 576},
                                                  {"host.block1.conv.weight", 1152},
                                                  {"host.head.weight", 160}}));
  REQUIRE(blocks.size() == 3);
  CHECK(blocks[0].kind == BlockKind::kConvolution);
  CHECK(blocks[0].params == 72 + 8 + 576);
  CHECK(blocks[1].activation_units == 16);
  CHECK(blocks[1].slot == "r0c1");
}

TEST_CASE("a transformer's slots follow the last layers of its segments") {
  config::HostConfig host;
  host.kind = config::HostKind::kTransformer;
  host.layers = 4;
  host.segments = 2;
  host.embedding = 16;
  const auto blocks = host_blocks(host, of_sizes({{"host.tokens.weight", 160},
                                                  {"host.positions.weight", 64},
                                                  {"host.layer0.norm1.weight", 16},
                                                  {"host.layer1.norm1.weight", 16},
                                                  {"host.layer2.norm1.weight", 16},
                                                  {"host.layer3.norm1.weight", 16},
                                                  {"host.norm.weight", 16}}));
  REQUIRE(blocks.size() == 7);
  CHECK(blocks[0].kind == BlockKind::kEmbedding);
  CHECK(blocks[2].kind == BlockKind::kTransformer);
  CHECK(blocks[2].slot.empty());
  CHECK(blocks[3].slot == "r0c0");
  CHECK(blocks[3].activation == ActivationKind::kGelu);
  CHECK(blocks[3].activation_units == 64);
  CHECK(blocks[5].slot == "r0c1");
  CHECK(blocks[6].kind == BlockKind::kNorm);
}

TEST_CASE("the blocks of an imported network are the modules that end at a slot, and else the outermost ones") {
  config::HostConfig host;
  host.kind = config::HostKind::kExported;
  const std::vector<kasmina::SlotSite> sites{{.id = "r0c0", .shape = {}, .path = "layer1.0"},
                                             {.id = "r0c1", .shape = {}, .path = "layer1.1"}};
  const auto blocks = host_blocks(host,
                                  of_sizes({{"host.conv1.weight", 7},
                                            {"host.layer1.0.conv1.weight", 5},
                                            {"host.layer1.1.conv1.weight", 3},
                                            {"host.layer1.0.conv2.weight", 2},
                                            {"host.layer2.weight", 1}}),
                                  sites);
  REQUIRE(blocks.size() == 4);
  CHECK(blocks[0].id == "host.conv1");
  CHECK(blocks[0].slot.empty());
  CHECK(blocks[1].id == "host.layer1.0");
  CHECK(blocks[1].slot == "r0c0");
  CHECK(blocks[1].params == 7);
  CHECK(blocks[2].slot == "r0c1");
  CHECK(blocks[3].id == "host.layer2");
}

TEST_CASE("a slot gets its kind of feature, and its blueprints their sizes") {
  const leyline::FeatureShape narrow{.kind = leyline::FeatureKind::kImage, .channels = 8};
  const leyline::FeatureShape wide{.kind = leyline::FeatureKind::kImage, .channels = 16};
  const std::vector<kasmina::SlotSite> sites{{.id = "r0c0", .shape = narrow}, {.id = "r0c1", .shape = wide}};
  std::vector<leyline::SlotState> slots = {{.slot = "r0c0", .blueprints = {"pointwise"}},
                                           {.slot = "r0c1", .blueprints = {"conv_light", "noop"}}};
  describe_slots(sites, slots);
  CHECK(slots[1].kind == leyline::FeatureKind::kImage);
  CHECK(slots[0].parameters == std::vector<std::int64_t>{64});
  CHECK(slots[1].parameters == std::vector<std::int64_t>{9 * 16 * 16 + 2 * 16, 0});
}

}  // namespace
}  // namespace esper::tolaria::host_blocks_test
