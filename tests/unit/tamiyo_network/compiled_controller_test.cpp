#include "tamiyo/network/compiled_controller.h"

#include <algorithm>
#include <catch2/catch_test_macros.hpp>

#include "asking_controller.h"
#include "base/error.h"

namespace esper::test::compiled_controller_test {

using namespace esper;
using namespace esper::tamiyo;

namespace {

struct Report {
  explicit Report(CompiledController& controller) { controller.report(metrics, events); }

  double metric(std::string_view name) const {
    const auto found = std::ranges::find(metrics, name, &leyline::MetricValue::name);
    REQUIRE(found != metrics.end());
    return found->value;
  }

  std::vector<leyline::MetricValue> metrics;
  std::vector<leyline::TelemetryEvent> events;
};

}  // namespace

TEST_CASE("without a compiler the network decides as it is, and says so once") {
  test::Conversation conversation{random_graph(kGraphShapes[0], 1)};
  CompiledController controller(fold(test::shared_weights()), nullptr, test::asks_about(conversation));
  CHECK(!controller.uncompiled_size());
  controller.decide({});
  const auto first = conversation.answer;
  CHECK(controller.uncompiled_size() == caps_for(conversation.graph).value());
  controller.compile_size();
  CHECK(!controller.uncompiled_size());

  const Report report(controller);
  CHECK(report.metric("tamiyo.gnn.compile_enabled") == 0);
  CHECK(report.metric("tamiyo.gnn.compile_fallback_total") == 1);
  REQUIRE(report.events.size() == 1);
  CHECK(report.events[0].description == "compile_disabled");
  CHECK(report.events[0].attributes.at("cause") == "no_compiler");

  controller.decide({});
  CHECK(conversation.answer == first);
  CHECK(Report(controller).events.empty());
}

TEST_CASE("a state with a size that no graph has is refused, and nothing of it is loaded") {
  test::Conversation conversation{random_graph(kGraphShapes[0], 1)};
  CompiledController controller(fold(test::shared_weights()), nullptr, test::asks_about(conversation));
  CHECK_NOTHROW(controller.load_state("{}"));
  for (const char* sizes : {"[[1, 2]]", "[[0, 4, 4, 4, 4, 4]]", "[[1, 4, 4, 4, 4, 100000]]", "\"all\""}) {
    CAPTURE(sizes);
    CHECK_THROWS_AS(controller.load_state(std::string("{\"compiled_sizes\": ") + sizes + "}"), base::Error);
  }
  CHECK(conversation.loaded == "{}");
}

}  // namespace esper::test::compiled_controller_test
