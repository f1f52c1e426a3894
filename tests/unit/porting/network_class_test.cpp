#include "porting/python/network_class.h"

#include <algorithm>
#include <catch2/catch_test_macros.hpp>

#include "kasmina/network.h"

namespace esper::test::network_class_test {

using namespace esper;

namespace {

struct Written {
  std::string text;
  std::vector<kasmina::NamedTensor> values;
};

Written written(config::HostConfig host, const leyline::SampleShape& sample, const std::string& module,
                config::Composition composition = config::Composition::kAdd) {
  if (!module.empty()) host.modules = {module};
  config::GrowthConfig growth;
  growth.composition = composition;
  const kasmina::Network network(host, growth, sample, 1, torch::kCPU);
  return {porting::network_class({network.state(), host, sample}), porting::network_values(network.state())};
}

config::HostConfig of_two() {
  config::HostConfig host;
  host.hidden = {4, 5};
  return host;
}

}  // namespace

TEST_CASE("a forward is written slot by slot, with ids as attributes") {
  const auto [text, values] = written(of_two(), leyline::features_shape(6, 3), "r0c0=mlp");
  CHECK(text ==
        "class Network(nn.Module):\n"
        "    \"\"\"float32 [B, 6] to float32 [B, 3], as preprocess() makes it.\"\"\"\n"
        "\n"
        "    def __init__(self):\n"
        "        super().__init__()\n"
        "        self.host = Mlp(6, [4, 5], 3)\n"
        "        self.seed_0001 = DenseMlp(4, 8)  # mlp at r0c0\n"
        "\n"
        "    def forward(self, x):\n"
        "        x = x.flatten(1)\n"
        "        x = self.host.block0(x)\n"
        "        x = self.seed_0001(x)\n"
        "        x = self.host.block1(x)\n"
        "        return self.host.head(x)\n");
  CHECK(std::ranges::count(values, "seed_0001.up.weight", &kasmina::NamedTensor::id) == 1);
  CHECK(std::ranges::count(values, "host.block1.linear.bias", &kasmina::NamedTensor::id) == 1);
}

TEST_CASE("a composition is written in place, its gate as a part of the module") {
  const auto [text, values] = written(of_two(), leyline::features_shape(6, 3), "r0c1=norm", config::Composition::kGate);
  CHECK(text.find("        self.seed_0001.blend_gate = LearnedGate(5)\n") != std::string::npos);
  CHECK(text.find("        s = self.seed_0001(x)\n"
                  "        x = x + self.seed_0001.blend_gate(x) * (s - x)\n") != std::string::npos);
  CHECK(std::ranges::count(values, "seed_0001.blend_gate.weight", &kasmina::NamedTensor::id) == 1);
}

TEST_CASE("further units go to the next layer through their outlet") {
  const auto [text, values] = written(of_two(), leyline::features_shape(6, 3), "r0c0=widen");
  CHECK(text.find("        y = self.host.block0(x)\n"
                  "        x, more = y, self.seed_0001(x, y)\n"
                  "        x = self.host.block1(x, self.seed_0001.outlet(more))\n") != std::string::npos);
}

}  // namespace esper::test::network_class_test
