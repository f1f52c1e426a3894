// host.modules: what could have been grown is there from the start.

#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_exception.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "kasmina/network/network_seeds.h"
#include "unit/kasmina/growing.h"

namespace esper::kasmina::network_modules_test {
namespace {

using Catch::Matchers::ContainsSubstring;
using Catch::Matchers::MessageMatches;

using Modules = std::vector<config::Entry<config::SlotModule>>;

Network with_modules(Modules modules, const config::GrowthConfig& growth = quick_growth()) {
  auto host = tiny_host();
  host.modules = std::move(modules);
  return {host, growth, tiny_sample(), 7, torch::kCPU};
}

TEST_CASE("a module of the host is heard from the start, learns, and is the host's") {
  const Network network = with_modules({"r0c1=mlp", "r0c0=norm"});
  const auto seeds = export_seed_states(network.state());
  REQUIRE(seeds.size() == 2);
  CHECK(seeds[0].slot == "r0c1");
  CHECK(seeds[0].blueprint == "mlp");
  CHECK(seeds[1].slot == "r0c0");
  for (const auto& seed : seeds) {
    CHECK(seed.stage == Stage::kFossilized);
    CHECK(seed.figures.alpha == 1);
  }
  for (const auto& group : network.parameter_groups()) CHECK(group.owner == "host");
  CHECK(owner_of(network, network.parameter_groups().at(1).parameters.at(0).id) == "host");
  for (const auto& [id, scalar] : network.scalars()) {
    CAPTURE(id);
    CHECK(scalar.item<float>() == (id.ends_with(".straight_through") ? 0.0F : 1.0F));
  }
  const auto inputs = at::randn({8, 4}, at::detail::createCPUGenerator(5));
  network.forward(inputs, Mode::kTrain).square().sum().backward();
  double gradient = 0;  // mlp starts with its last layer at 0, so not every parameter has one yet
  const auto groups = network.parameter_groups();
  for (const auto& parameter : groups.at(1).parameters) gradient += parameter.tensor.grad().abs().sum().item<double>();
  CHECK(gradient > 0);
}

TEST_CASE("modules are there without growth, and their slots are taken where there is") {
  auto still = quick_growth();
  still.enabled = false;
  CHECK(export_seed_states(with_modules({"r0c0=mlp"}, still).state()).size() == 1);
  Network network = with_modules({"r0c0=mlp"});
  Growing commands;
  const auto events = network.apply(commands.germination("r0c0", "mlp"), commands.probe);
  REQUIRE_FALSE(events.empty());
  CHECK(events.back().code == "slot_occupied");
  CHECK(network.apply(commands.germination("r0c1", "mlp"), commands.probe).back().seed_id == "seed-0002");
}

TEST_CASE("a saved network with modules is restored, tensors kept") {
  Network network = with_modules({"r0c0=mlp"});
  const auto before = network.parameter_groups().at(1).parameters.at(0).tensor;
  const auto saved = network.save_topology();
  network.restore_topology(saved);
  CHECK(network.parameter_groups().at(1).parameters.at(0).tensor.is_same(before));
  CHECK(network.save_topology() == saved);
}

TEST_CASE("a module that is too large for the data is refused by name") {
  config::HostConfig host;
  host.kind = config::HostKind::kCnn;
  host.blocks = host.pool_layers = 1;
  host.modules = {"r0c0=conv_light"};
  const auto network_for = [&](std::int64_t edge) {
    return Network(host, quick_growth(), leyline::image_shape(2, edge, edge, 3), 7, torch::kCPU);
  };
  CHECK(export_seed_states(network_for(4).state()).size() == 1);
  CHECK_THROWS_MATCHES(network_for(2), base::Error,
                       MessageMatches(ContainsSubstring("host.modules: r0c0=conv_light: a 3x3 convolution of a single "
                                                        "pixel sees padding only")));
}

}  // namespace
}  // namespace esper::kasmina::network_modules_test
