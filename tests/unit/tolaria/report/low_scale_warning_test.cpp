#include "tolaria/report/low_scale_warning.h"

#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <map>
#include <string>

#include "support/faults/armed_fault.h"
#include "support/run_fixture.h"

namespace esper::test::low_scale_warning_test {

using Catch::Matchers::ContainsSubstring;

namespace {

// An epoch of a run in fp16.
struct Case {
  double scale = 1;
  std::int64_t skipped = 1;
  std::map<std::string, double> of_seeds{};
  double init_scale = 65536;
  c10::ScalarType type = torch::kHalf;
};

std::vector<leyline::TelemetryEvent> warnings_of(const Case& c) {
  step::StepSettings settings;
  settings.compute_type = c.type;
  settings.has_loss_scale = true;  // kept by a run that goes over to fp32
  settings.grad_scaler.init_scale = c.init_scale;
  step::StepMetrics steps;
  steps.steps = 12;
  steps.nonfinite_steps = c.skipped;
  steps.loss_scale = c.scale;
  steps.seed_loss_scales = c.of_seeds;
  return tolaria::low_scale_warnings(settings, 3, steps);
}

}  // namespace

TEST_CASE("a loss scale below 1, with which steps are still skipped, is a warning with the way out") {
  const auto warnings = warnings_of({.scale = 0.25});
  REQUIRE(warnings.size() == 1);
  const auto& attributes = warnings[0].attributes;
  CHECK(warnings[0].level == leyline::Level::kWarning);
  CHECK(attributes.at("epoch") == "3");
  CHECK(attributes.at("scale") == "0.25");
  CHECK(attributes.at("skipped") == "1");
  CHECK(attributes.at("steps") == "12");
  CHECK_FALSE(attributes.contains("seed_id"));
  CHECK_THAT(attributes.at("reason"), ContainsSubstring("bf16"));
  CHECK(warnings_of({.scale = 1}).empty());
  CHECK(warnings_of({.scale = 0.25, .skipped = 0}).empty());
  CHECK(warnings_of({.scale = 0.25, .init_scale = 0.25}).empty());
  CHECK(warnings_of({.scale = 0.125, .init_scale = 0.25}).size() == 1);
  CHECK(warnings_of({.scale = 0.25, .type = torch::kFloat}).empty());
}

TEST_CASE("the scale of a seed in the shadow is looked at by itself, though no step counts as skipped") {
  const auto warnings = warnings_of({.scale = 128, .skipped = 0, .of_seeds = {{"seed-0001", 0}, {"seed-0002", 128}}});
  REQUIRE(warnings.size() == 1);
  CHECK(warnings[0].attributes.at("seed_id") == "seed-0001");
  CHECK(warnings[0].attributes.at("scale") == "0");
  CHECK_THAT(warnings[0].attributes.at("reason"), ContainsSubstring("growth.training"));
  // One that is no lower than the network's is that one's.
  CHECK(warnings_of({.scale = 0.5, .skipped = 0, .of_seeds = {{"seed-0001", 0.5}}}).empty());
  CHECK(warnings_of({.scale = 0.5, .of_seeds = {{"seed-0001", 0.25}}}).size() == 2);
}

TEST_CASE("a run warns of a low scale once, and also where a signal ends it within the first such epoch") {
  constexpr double kBeyondHalves = 1e12;
  auto config = small_config();
  config.device.precision = config::Precision::kFp16;
  config.training.grad_scaler = {kBeyondHalves, 2, 1e-13, 2000};
  {
    SmallRun it(config);
    // The first step of each epoch overflows, the others train with a scale of 0.1.
    it.sink.on_packet = [&](const leyline::TelemetryPacket& packet) {
      if (!packet.metrics.empty()) it.model->state.loss_scale.scale.fill_(kBeyondHalves);
    };
    REQUIRE(it.go().kind == tolaria::RunOutcome::Kind::kDone);
    CHECK(it.progress.scaler_skips == 3);
    const auto warnings = it.events("tolaria.scaler.scale_low");
    REQUIRE(warnings.size() == 1);
    CHECK(warnings[0].attributes.at("epoch") == "1");
  }
  const ArmedFault signal("tolaria.training.term", 4);
  SmallRun it(config);
  REQUIRE(it.go().kind == tolaria::RunOutcome::Kind::kInterrupted);
  const auto warnings = it.events("tolaria.scaler.scale_low");
  REQUIRE(warnings.size() == 1);
  CHECK(warnings[0].attributes.at("epoch") == "1");
  CHECK(warnings[0].attributes.at("steps") == "4");
}

}  // namespace esper::test::low_scale_warning_test
