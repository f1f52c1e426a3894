#include "tolaria/report/scaler_warning.h"

#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>

#include "support/faults/armed_fault.h"
#include "support/run_fixture.h"
#include "tolaria/summary.h"

namespace esper::test::scaler_warning_test {

using Catch::Matchers::ContainsSubstring;
using tolaria::scaler_warning;

namespace {

// An epoch of a run in fp16 with the scaler's defaults, which may come down to 1 by 16 skips.
struct Case {
  std::int64_t steps = 0, skipped = 0;
  std::int64_t so_far = 0;  // skipped, this epoch included
  std::int64_t of = 1000;   // steps of the run so far
  bool is_last = false;
  double init_scale = 65536, backoff_factor = 0.5;
  c10::ScalarType type = torch::kHalf;
  std::string undone{};
};

std::optional<leyline::TelemetryEvent> warning_of(const Case& c) {
  step::StepSettings settings;
  settings.compute_type = c.type;
  settings.grad_scaler.init_scale = c.init_scale;
  settings.grad_scaler.backoff_factor = c.backoff_factor;
  tolaria::RunProgress progress;
  progress.epoch = 3;
  progress.scaler_skips = c.so_far;
  progress.step = c.of;
  step::StepMetrics steps;
  steps.steps = c.steps;
  steps.nonfinite_steps = c.skipped;
  steps.loss_scale = 0.5;
  tolaria::Measurements measured;
  measured.undone = c.undone;
  return scaler_warning(settings, progress, {steps, measured, {}, c.is_last});
}

bool warns(const Case& c) { return warning_of(c).has_value(); }

// steps, skipped: of an epoch that is not counted; so_far, of: of the run, with them.
std::optional<leyline::TelemetryEvent> warning_at_signal(const Case& c) {
  step::StepSettings settings;
  settings.compute_type = c.type;
  tolaria::RunProgress progress;
  progress.epoch = 2;
  progress.scaler_skips = c.so_far - c.skipped;
  progress.step = c.of;
  step::StepMetrics steps;
  steps.steps = c.steps;
  steps.nonfinite_steps = c.skipped;
  return tolaria::scaler_warning_at_signal(settings, progress, steps);
}

// The scale grows after each step that does not overflow, far beyond what fp16 holds: four steps of each epoch's six
// are skipped on its way down.
config::RunConfig overflowing() {
  auto config = small_config();
  config.device.precision = config::Precision::kFp16;
  config.training.grad_scaler = {2, 1e4, 0.5, 1};
  return config;
}

}  // namespace

TEST_CASE("an epoch in fp16 with at least half of its steps skipped is a warning with the counts and the way out") {
  const auto warning = warning_of({.steps = 12, .skipped = 6, .so_far = 17});
  REQUIRE(warning);
  CHECK(warning->level == leyline::Level::kWarning);
  CHECK(warning->attributes.at("epoch") == "3");
  CHECK(warning->attributes.at("skipped") == "6");
  CHECK(warning->attributes.at("steps") == "12");
  CHECK(warning->attributes.at("skipped_total") == "17");
  CHECK(warning->attributes.at("steps_total") == "1000");
  CHECK(warning->attributes.at("scale") == "0.5");
  CHECK_THAT(warning->attributes.at("reason"),
             ContainsSubstring("bf16") && ContainsSubstring("lr") && ContainsSubstring("training.grad_scaler"));
  CHECK_FALSE(warns({.steps = 12, .skipped = 5, .so_far = 100}));
  CHECK_FALSE(warns({.steps = 0, .skipped = 0, .so_far = 100, .is_last = true}));
  CHECK_FALSE(warns({.steps = 12, .skipped = 12, .so_far = 100, .type = torch::kFloat}));
  CHECK_FALSE(warns({.steps = 12, .skipped = 12, .so_far = 100, .undone = "a parameter is not finite"}));
}

TEST_CASE(
    "skips that bring the scale down from its start to 1 are no sign of trouble, unless training ends with them") {
  CHECK_FALSE(warns({.steps = 8, .skipped = 5, .so_far = 5}));
  CHECK_FALSE(warns({.steps = 16, .skipped = 16, .so_far = 16}));
  CHECK(warns({.steps = 17, .skipped = 17, .so_far = 17}));
  CHECK(warns({.steps = 8, .skipped = 5, .so_far = 5, .is_last = true}));
  CHECK(warns({.steps = 10, .skipped = 1, .so_far = 15, .of = 30, .is_last = true}));
  CHECK_FALSE(warns({.steps = 10, .skipped = 1, .so_far = 14, .of = 30, .is_last = true}));
  CHECK_FALSE(warns({.steps = 10, .skipped = 1, .so_far = 15, .of = 30}));
  CHECK(warns({.steps = 2, .skipped = 1, .so_far = 1, .init_scale = 1}));
  CHECK_FALSE(warns({.steps = 40, .skipped = 40, .so_far = 40, .init_scale = 1e12}));
  CHECK(warns({.steps = 41, .skipped = 41, .so_far = 41, .init_scale = 1e12}));
  CHECK(warns({.steps = 41, .skipped = 41, .so_far = 41, .init_scale = 1e12, .backoff_factor = 0.9999}));
}

TEST_CASE(
    "where a signal ends the process, most steps of the epoch so far or of the run are a warning, once start-up is "
    "over") {
  const auto warning = warning_at_signal({.steps = 30, .skipped = 17, .so_far = 17});
  REQUIRE(warning);
  CHECK(warning->level == leyline::Level::kWarning);
  CHECK(warning->attributes.at("epoch") == "3");
  CHECK(warning->attributes.at("skipped") == "17");
  CHECK(warning->attributes.at("steps") == "30");
  CHECK(warning->attributes.at("skipped_total") == "17");
  CHECK(warning->attributes.at("steps_total") == "1000");
  CHECK_FALSE(warning_at_signal({.steps = 30, .skipped = 16, .so_far = 16, .of = 30}));
  CHECK_FALSE(warning_at_signal({.steps = 1, .skipped = 1, .so_far = 40}));
  CHECK_FALSE(warning_at_signal({.steps = 36, .skipped = 17, .so_far = 17}));
  CHECK_FALSE(warning_at_signal({.steps = 30, .skipped = 30, .so_far = 30, .type = torch::kFloat}));
  const auto between_epochs = warning_at_signal({.so_far = 500});
  REQUIRE(between_epochs);
  CHECK(between_epochs->attributes.at("epoch") == "2");
  CHECK_FALSE(warning_at_signal({.so_far = 499}));
}

TEST_CASE("a run that a signal ends within an epoch warns of its skipped steps, and is resumed with the same bits") {
  const auto config = overflowing();
  const auto image = [&] {
    const ArmedFault signal("tolaria.training.term", 5);
    SmallRun it(config);
    REQUIRE(it.go().kind == tolaria::RunOutcome::Kind::kInterrupted);
    const auto warnings = it.events("tolaria.scaler.most_steps_skipped");
    REQUIRE(warnings.size() == 1);
    CHECK(warnings[0].attributes.at("epoch") == "1");
    CHECK(warnings[0].attributes.at("steps") == "5");
    CHECK(warnings[0].attributes.at("steps_total") == "5");
    return newest_checkpoint(it);
  }();
  SmallRun whole(config), resumed(config, quiet(), image);
  REQUIRE(whole.go().kind == tolaria::RunOutcome::Kind::kDone);
  REQUIRE(resumed.go().kind == tolaria::RunOutcome::Kind::kDone);
  CHECK(differing(whole.bits(), resumed.bits()).empty());
  CHECK(resumed.progress.scaler_skips == whole.progress.scaler_skips);
}

TEST_CASE("a run warns once of epochs whose steps are mostly skipped; its summary and a resumed run have their count") {
  auto config = overflowing();
  SmallRun it(config);
  const auto outcome = it.go();
  REQUIRE(outcome.kind == tolaria::RunOutcome::Kind::kDone);
  const auto warnings = it.events("tolaria.scaler.most_steps_skipped");
  REQUIRE(warnings.size() == 1);
  CHECK(warnings[0].attributes.at("epoch") == "1");
  CHECK(warnings[0].attributes.at("steps") == "6");
  const auto skipped = it.values("tolaria.scaler.skipped_steps_total");
  REQUIRE(skipped.size() == 3);
  CHECK(skipped.back() >= 9);
  CHECK(summarize(it.run, outcome, "/run")["skipped_steps"] == it.progress.scaler_skips);
  CHECK(static_cast<double>(it.progress.scaler_skips) == skipped.back());
  config.epochs = 4;
  SmallRun resumed(config, quiet(), newest_checkpoint(it));
  REQUIRE(resumed.go().kind == tolaria::RunOutcome::Kind::kDone);
  CHECK(resumed.values("tolaria.scaler.skipped_steps_total").back() >= skipped.back());
}

TEST_CASE("fp16 that learns is no warning, and fp32 has no count") {
  auto config = small_config();
  SmallRun full(config);
  CHECK_FALSE(summarize(full.run, full.go(), "/run").contains("skipped_steps"));
  config.device.precision = config::Precision::kFp16;
  SmallRun it(config);
  REQUIRE(it.go().kind == tolaria::RunOutcome::Kind::kDone);
  CHECK(it.events("tolaria.scaler.most_steps_skipped").empty());
  const ArmedFault signal("tolaria.training.term", 5);
  SmallRun stopped(config);
  REQUIRE(stopped.go().kind == tolaria::RunOutcome::Kind::kInterrupted);
  CHECK(stopped.events("tolaria.scaler.most_steps_skipped").empty());
}

}  // namespace esper::test::scaler_warning_test
