#include "kasmina/host/step_cost.h"

#include <catch2/catch_approx.hpp>
#include <catch2/catch_test_macros.hpp>

#include "kasmina/network/network_seeds.h"
#include "unit/kasmina/growing.h"

namespace esper::kasmina::step_cost_test {
namespace {

using Catch::Approx;

double flops_of(const config::HostConfig& host, const leyline::SampleShape& sample) {
  return host_flops(build_host(host, sample, 1, torch::kCPU));
}

}  // namespace

TEST_CASE("each weight of a dense host is used once") {
  CHECK(flops_of(tiny_host(), tiny_sample()) == 4 * 12 + 12 * 10 + 10 * 3);
}

TEST_CASE("a convolution is used at every pixel that comes in") {
  config::HostConfig host;
  host.kind = config::HostKind::kCnn;
  host.blocks = 2;
  host.pool_layers = 1;
  host.base_channels = 4;
  host.kernel = 3;
  leyline::SampleShape sample;
  sample.kind = leyline::SampleKind::kImage;
  sample.channels = 1;
  sample.height = sample.width = 8;
  sample.num_classes = 10;
  const Host built = build_host(host, sample, 1, torch::kCPU);
  const auto first = static_cast<double>(find_parameter(built.tensors, "host.block0.conv.weight").numel());
  const auto second = static_cast<double>(find_parameter(built.tensors, "host.block1.conv.weight").numel());
  const auto head = static_cast<double>(find_parameter(built.tensors, "host.head.weight").numel());
  // Of the first block only its slot's pixels are known, a quarter of what comes in.
  CHECK(host_flops(built) == first * 16 + second * 16 + head);
}

TEST_CASE("what a blueprint costs is a share of the network that is there") {
  Growing run;
  const auto before = export_slots(run.network.state()).at(1);
  REQUIRE(before.step_costs.size() == before.blueprints.size());
  const auto at = static_cast<std::size_t>(std::ranges::find(before.blueprints, "mlp") - before.blueprints.begin());
  // 10 channels, 20 wide inside; the host has 198 weights.
  CHECK(before.step_costs.at(at) == Approx(2.0 * 10 * 20 / 198));
  run.germinate("r0c0", "mlp");
  CHECK(export_slots(run.network.state()).at(1).step_costs.at(at) < before.step_costs.at(at));
}

}  // namespace esper::kasmina::step_cost_test
