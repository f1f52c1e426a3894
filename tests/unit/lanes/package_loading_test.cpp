#include "lanes/shape/package_loading.h"

#include <algorithm>
#include <catch2/catch_test_macros.hpp>

#include "lanes/shape/recipe_search.h"
#include "support/environment_variable.h"
#include "support/models/lane_cases.h"
#include "support/temporary_folder.h"
#include "unit/lanes/compiling_step.h"

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

TEST_CASE("a package that does not load is compiled again once, and not a second time") {
  CompilingStep it;
  lanes::StepShape shape;
  shape.program = it.recorded;
  const auto batch = make_batches(it.c, 1);
  lanes::LaneFailures failures(it.services, it.figures);
  const lanes::Variant variant = it.variant(it.service.recipes(it.recorded).front());
  const auto is_wanted = [&] {
    shape.search.wanted.clear();
    list_variants(it.context, shape);
    return std::ranges::any_of(shape.search.wanted, [&](const auto& one) { return one.key == variant.key; });
  };
  for (const bool again : {true, false}) {
    it.stock(variant.key);  // it is no package
    const auto loaded = load_cached(it.context, failures, it.recorded, variant.key, batch, Absence::kLoss);
    REQUIRE_FALSE(loaded);
    CHECK(loaded.error().cause == lanes::LaneFailure::Cause::kPackage);
    CHECK(is_wanted() == again);
  }
  CHECK(it.figures.quarantined == 2);
  CHECK(it.reported("tolaria.compile_runtime_fallback", "error").size() == 2);
}

}  // namespace esper::test::package_loading_test
