// The policy network on a GPU. Each test is skipped, and says so, where there is none.
#include <ATen/Context.h>

#include <catch2/catch_test_macros.hpp>
#include <thread>

#include "device/precision.h"
#include "outputs.h"
#include "support/gpu.h"
#include "tamiyo/network/agreement.h"
#include "tamiyo/network/bf16_products.h"
#include "tamiyo/network/policy_network.h"

namespace esper::test::policy_network_gpu_test {

using namespace esper;
using namespace esper::tamiyo;

namespace {

FoldedWeights weights_on(c10::Device device) { return on_device(fold(test::shared_weights()), device); }

}  // namespace

TEST_CASE("on a card the network answers as on the CPU, one graph after another") {
  const auto device = test::gpu_or_skip();
  PolicyNetwork on_card(weights_on(device)), on_cpu(fold(test::shared_weights()));
  for (std::uint64_t seed = 0; seed < 4; ++seed) {
    for (const GraphShape& shape : kGraphShapes) {
      const HeteroGraph graph = random_graph(shape, seed);
      CHECK(test::largest_output_difference(on_card.run(graph).value(), on_cpu.run(graph).value()) < 1e-4);
    }
  }
}

TEST_CASE("on a card the recorded network answers as the eager one") {
  const auto device = test::gpu_or_skip();
  PolicyNetwork eager(weights_on(device)), recorded(weights_on(device));
  const HeteroGraph graph = random_graph(kGraphShapes[1], 1);
  PaddedNetwork& padded = recorded.padded(caps_for(graph).value());
  REQUIRE(padded.record());
  CHECK(padded.form() == NetworkForm::kReplay);
  for (std::uint64_t seed = 0; seed < 4; ++seed) {
    const HeteroGraph other = random_graph(kGraphShapes[1], seed);
    CHECK(test::largest_output_difference(recorded.run(other).value(), eager.run(other).value()) < 1e-6);
  }
}

TEST_CASE("on a card the network decides under autocast as in fp32") {
  const auto device = test::gpu_or_skip();
  if (!has_bf16_products(device)) SKIP("this card has no fast bf16 products");
  PolicyNetwork exact(weights_on(device)), rounded(in_bf16(weights_on(device)));
  const Agreement found = compare_decisions(rounded, exact);
  INFO(found.same << " of " << found.graphs << ", numbers differ by up to " << found.largest_difference);
  CHECK(agree(found));
  CHECK(found.largest_difference > 1e-4F);
}

TEST_CASE("on a card the network answers and is recorded alike while another thread computes in full fp32 by turns") {
  const auto device = test::gpu_or_skip();
  auto& context = at::globalContext();
  const bool former = context.allowTF32CuBLAS();
  context.setAllowTF32CuBLAS(true);
  {
    PolicyNetwork network(weights_on(device)), recorded(weights_on(device));
    const HeteroGraph graph = random_graph(kGraphShapes[1], 1);
    const auto expected = network.run(graph).value();
    PaddedNetwork& padded = recorded.padded(caps_for(graph).value());
    const std::jthread other([&](const std::stop_token& stop) {
      while (!stop.stop_requested()) const device::FullFp32 full(device);
    });
    for (int i = 0; i < 100; ++i) {
      CHECK(test::largest_output_difference(network.run(graph).value(), expected) < 1e-6);
      REQUIRE(padded.record());
      CHECK(test::largest_output_difference(recorded.run(graph).value(), expected) < 1e-6);
    }
  }
  context.setAllowTF32CuBLAS(former);
}

}  // namespace esper::test::policy_network_gpu_test
