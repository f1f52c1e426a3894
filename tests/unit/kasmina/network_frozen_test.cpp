#include "kasmina/network/network_frozen.h"

#include <catch2/catch_approx.hpp>
#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "kasmina/network.h"
#include "kasmina/network/network_seeds.h"
#include "leyline/seed_command.h"

namespace esper::kasmina::network_frozen_test {
namespace {

using Catch::Matchers::ContainsSubstring;

config::HostConfig mlp(std::vector<std::string> freeze, int unfreeze_epoch = 0) {
  config::HostConfig host;
  host.kind = config::HostKind::kMlp;
  host.hidden = {8, 8};
  host.freeze = std::move(freeze);
  host.unfreeze_epoch = unfreeze_epoch;
  return host;
}

Network network_of(const config::HostConfig& host) {
  return Network(host, config::GrowthConfig{}, leyline::features_shape(4, 3), 1, torch::kCPU);
}

std::vector<std::string> learning(const Network& network) {
  std::vector<std::string> ids;
  const auto groups = network.parameter_groups();
  for (const auto& [id, tensor] : groups.front().parameters) ids.push_back(id);
  return ids;
}

std::string refusal(const std::vector<std::string>& freeze) {
  try {
    network_of(mlp(freeze));
  } catch (const base::Error& error) {
    CHECK(error.code() == base::ExitCode::kConfig);
    return error.what();
  }
  return "";
}

}  // namespace

TEST_CASE("frozen parameters are in no group, have no gradient, and are saved as buffers are") {
  const Network network = network_of(mlp({"*", "!head.*"}));
  CHECK(learning(network) == std::vector<std::string>{"host.head.weight", "host.head.bias"});
  std::vector<std::string> buffers;
  for (const auto& [id, tensor] : network.buffers()) {
    buffers.push_back(id);
    CHECK_FALSE(tensor.requires_grad());
  }
  CHECK(buffers == std::vector<std::string>{"host.block0.linear.weight", "host.block0.linear.bias",
                                            "host.block1.linear.weight", "host.block1.linear.bias"});
  CHECK(network.state().structure.ownership.owner_of("host.block0.linear.weight") == kHostOwner);
}

TEST_CASE("after the epoch of unfreezing all learn, also in a network that is restored") {
  Network network = network_of(mlp({"block0.*"}, 2));
  const auto version = network.structure_version();
  EpochFacts facts;
  facts.epoch = 1;
  network.end_epoch(facts);
  CHECK(learning(network).size() == 4);
  CHECK(network.structure_version() == version);
  facts.epoch = 2;
  network.end_epoch(facts);
  CHECK(learning(network).size() == 6);
  CHECK(network.structure_version() > version);
  Network other = network_of(mlp({"block0.*"}, 2));
  other.restore_topology(network.save_topology());
  CHECK(learning(other).size() == 6);
  CHECK(other.parameter_groups().front().parameters.front().tensor.requires_grad());
}

TEST_CASE("a seed's gradient is compared with what learned in the epoch, not with what learns next") {
  Network network = network_of(mlp({"block0.*"}, 3));
  network.apply(leyline::germination("born", "r0c0", "mlp"), at::randn({8, 4}));
  network.apply(leyline::seed_command("starts", leyline::SeedOperation::kStartTraining, "seed-0001"),
                at::randn({8, 4}));
  const auto ratio_after = [&](std::uint32_t epoch) {
    EpochFacts facts;
    facts.epoch = epoch;
    facts.host_gradient_norm = 1;
    facts.seeds = {{"seed-0001", 1.0, {}, {}}};
    network.end_epoch(facts);
    return export_seed_states(network.state()).at(0).figures.gradient_ratio.value();
  };
  const double frozen = ratio_after(1);
  CHECK(ratio_after(2) == Catch::Approx(frozen));
  CHECK(ratio_after(3) == Catch::Approx(frozen));  // its end unfreezes the rest
  CHECK(ratio_after(4) > frozen);
}

TEST_CASE("patterns that freeze nothing, or everything, are mistakes") {
  CHECK_THAT(refusal({"blok0.linear.weight"}), ContainsSubstring("did you mean block0.linear.weight"));
  CHECK_THAT(refusal({"*"}), ContainsSubstring("nothing is left that learns"));
  CHECK(refusal({"host.block0.*"}).empty());
}

}  // namespace esper::kasmina::network_frozen_test
