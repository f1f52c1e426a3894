#include <ATen/Parallel.h>

#include <catch2/catch_test_macros.hpp>

#include "outputs.h"
#include "support/compiler_headers.h"
#include "support/environment_variable.h"
#include "support/temporary_folder.h"
#include "tamiyo/network/network_compiler.h"
#include "with_python.h"

namespace esper::test::network_compiler_package_test {

using namespace esper;
using namespace esper::tamiyo;

namespace {

constexpr Caps kCaps = {1, 4, 4, 4, 4, 4};

}  // namespace

TEST_CASE("the compiled network agrees; the next one takes it from the cache, where it stays if it cannot be loaded") {
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

  PolicyNetwork network(test::shared_weights());
  NetworkCompiler compiler(&service);
  {
    const test::EnvironmentVariable none("TMPDIR", folder / "missing");
    compiler.request(network, kCaps);
  }
  const auto fallbacks = compiler.take_fallbacks();
  REQUIRE(fallbacks.size() == 1);
  CHECK(fallbacks[0].cause == "load_error");
  PaddedNetwork& padded = network.padded(kCaps);
  CHECK(padded.form() == NetworkForm::kReplay);
  CHECK(service.cache().facts(service.key(padded.program(), service.recipes(padded.program()).front())).has_value());
}

}  // namespace esper::test::network_compiler_package_test
