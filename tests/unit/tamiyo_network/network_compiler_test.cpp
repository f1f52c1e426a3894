#include "tamiyo/network/network_compiler.h"

#include <catch2/catch_test_macros.hpp>

#include "outputs.h"
#include "support/temporary_folder.h"

namespace esper::test::network_compiler_test {

using namespace esper;
using namespace esper::tamiyo;

namespace {

constexpr Caps kCaps = {1, 4, 4, 4, 4, 4}, kOthers = {1, 8, 4, 4, 4, 4};

program::CompileServiceSettings without_python() {
  program::CompileServiceSettings settings;
  settings.python = "/nonexistent/python";
  settings.torch_version = "2";
  settings.device = "cpu";
  return settings;
}

}  // namespace

TEST_CASE("what cannot be compiled is replayed, with one warning for each cause") {
  const test::TemporaryFolder folder;
  program::CompileService service(without_python(), {folder / "cache", {}});
  REQUIRE(service.problem().empty());
  PolicyNetwork network(test::shared_weights()), eager(test::shared_weights());
  NetworkCompiler compiler(&service);
  for (const Caps& caps : {kCaps, kOthers}) {
    compiler.request(network, caps);
    compiler.wait(network);
    CHECK(network.padded(caps).form() == NetworkForm::kReplay);
    CHECK(test::flat(network.run(full_graph(caps)).value()) == test::flat(eager.run(full_graph(caps)).value()));
  }
  CHECK(compiler.figures().compiled == 0);
  CHECK(compiler.figures().fallbacks == 2);
  CHECK(!compiler.figures().warm_ms);
  const auto fallbacks = compiler.take_fallbacks();
  REQUIRE(fallbacks.size() == 1);
  CHECK(fallbacks[0].cause == "compile_error");
  CHECK(!fallbacks[0].reason.empty());
  CHECK(compiler.take_fallbacks().empty());
}

TEST_CASE("the full graph fills its caps and is one that the network takes") {
  const HeteroGraph graph = full_graph(kOthers);
  for (std::size_t type = 0; type < kNodeTypes; ++type) CHECK(graph.nodes[type].count == kOthers[type]);
  for (const EdgeList& edges : graph.edges) CHECK(!edges.source.empty());
  PolicyNetwork network(test::shared_weights());
  CHECK(network.run(graph));
  CHECK(caps_for(graph).value() == kOthers);
}

}  // namespace esper::test::network_compiler_test
