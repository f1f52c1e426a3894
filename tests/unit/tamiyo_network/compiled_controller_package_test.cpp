#include <ATen/Parallel.h>

#include <catch2/catch_test_macros.hpp>
#include <nlohmann/json.hpp>

#include "asking_controller.h"
#include "support/compiler_headers.h"
#include "support/temporary_folder.h"
#include "tamiyo/network/compiled_controller.h"
#include "with_python.h"

namespace esper::test::compiled_controller_package_test {

using namespace esper;
using namespace esper::tamiyo;

TEST_CASE("questions after the first of a size are answered by the compiled network, also in a resumed run") {
  at::set_num_threads(1);
  const test::TemporaryFolder folder;
  const auto service = [&] {
    return std::make_unique<program::CompileService>(
        test::with_python(), program::CompileFolders{folder / "cache", test::shared_worker_folder()});
  };
  test::Conversation conversation{random_graph({{1, 2, 4, 3, 1, 1}, 0.5}, 1)};
  CompiledController controller(fold(test::shared_weights()), service(), test::asks_about(conversation));
  const std::string before = controller.save_state();
  controller.decide({});
  const auto folded = conversation.answer;
  const std::string between = controller.save_state();
  CHECK(nlohmann::json::parse(between).at("compiled_sizes").size() == 1);

  controller.compile_size();
  std::vector<leyline::MetricValue> metrics;
  std::vector<leyline::TelemetryEvent> events;
  controller.report(metrics, events);
  CHECK(events.empty());
  controller.decide({});
  const auto compiled = conversation.answer;
  CHECK(compiled != folded);  // sums in another order: what the rest of this test is about

  CompiledController resumed(fold(test::shared_weights()), service(), test::asks_about(conversation));
  resumed.load_state(between);
  resumed.decide({});
  CHECK(conversation.answer == compiled);
  resumed.load_state(before);
  resumed.decide({});
  CHECK(conversation.answer == folded);
}

}  // namespace esper::test::compiled_controller_package_test
