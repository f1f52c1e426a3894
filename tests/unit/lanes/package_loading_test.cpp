#include "lanes/shape/package_loading.h"

#include <catch2/catch_test_macros.hpp>

#include "support/environment_variable.h"
#include "support/models/lane_cases.h"
#include "support/temporary_folder.h"

namespace esper::test::package_loading_test {

using namespace esper;
using namespace esper::tests;
using lanes::Absence;

TEST_CASE("a package that the cache lost is reported, and one that was never compiled is not") {
  const TemporaryFolder folder;
  const EnvironmentVariable state("XDG_STATE_HOME", folder / "state");
  program::CompileService compile_service({}, {folder / "programs", {}});
  REQUIRE(compile_service.problem().empty());
  const LaneCase c = lane_cases().front();
  const auto model = make_model(c);
  const auto batch = make_batches(c, 1);
  const config::StepConfig config;
  std::vector<leyline::TelemetryEvent> events;
  lanes::LaneServices services;
  services.compile_service = &compile_service;
  services.emit = [&](leyline::TelemetryEvent event) { events.push_back(std::move(event)); };
  lanes::LaneFigures figures;
  lanes::GraphCapture capture("step", 0, services.emit);
  const lanes::LaneContext context{*model,   config,  torch::kCPU, step::training_forward(model->network),
                                   services, figures, capture};
  lanes::LaneFailures failures(services, figures);
  for (const Absence absence : {Absence::kOrdinary, Absence::kLoss}) {
    const auto loaded = lanes::load_cached(context, failures, {}, std::string(32, 'a'), batch, absence);
    REQUIRE_FALSE(loaded);
    CHECK(loaded.error().cause == lanes::LaneFailure::Cause::kUnavailable);
    CHECK(events.size() == (absence == Absence::kLoss ? 1 : 0));
  }
  CHECK(events.front().description == "tolaria.compile_runtime_fallback");
  CHECK(events.front().attributes.at("error").find("step.compile.cache_limit_mb") != std::string::npos);
}

}  // namespace esper::test::package_loading_test
