#include <ATen/Parallel.h>

#include <catch2/catch_test_macros.hpp>

#include "outputs.h"
#include "support/compiler_headers.h"
#include "support/temporary_folder.h"
#include "tamiyo/network/network_compiler.h"
#include "with_python.h"

namespace esper::test::network_compiler_package_test {

using namespace esper;
using namespace esper::tamiyo;

namespace {

constexpr Caps kCaps = {1, 4, 4, 4, 4, 4};

}  // namespace

TEST_CASE("the compiled network agrees, and the next one takes it from the cache") {
  at::set_num_threads(1);
  const test::TemporaryFolder folder;
  program::CompileService service(test::with_python(), {folder / "cache", test::shared_worker_folder()});
  REQUIRE(service.problem().empty());
  PolicyNetwork eager(test::shared_weights());
  for (const bool cached : {false, true}) {
    PolicyNetwork network(test::shared_weights());
    NetworkCompiler compiler(&service);
    compiler.request(network, kCaps);
    CHECK((network.padded(kCaps).form() == NetworkForm::kCompiled) == cached);
    compiler.wait(network);
    for (const auto& [cause, reason] : compiler.take_fallbacks()) FAIL_CHECK(cause << ": " << reason);
    REQUIRE(network.padded(kCaps).form() == NetworkForm::kCompiled);
    CHECK(compiler.figures().compiled == 1);
    CHECK(compiler.figures().warm_ms.value() > 0);
    for (std::uint64_t seed = 0; seed < 4; ++seed) {
      const HeteroGraph graph = random_graph({{1, 2, 4, 3, 1, 1}, 0.5}, seed);
      CHECK(test::largest_output_difference(network.run(graph).value(), eager.run(graph).value()) < 1e-5);
    }
  }
}

}  // namespace esper::test::network_compiler_package_test
