#include "config/rules/without_effect.h"

#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <string>
#include <vector>

#include "config/loading/load.h"
#include "config/writing/write.h"

namespace esper::test::without_effect_test {

using namespace esper::config;
using Catch::Matchers::StartsWith;

namespace {

std::vector<base::Problem> warnings_of(const std::string& text, const std::vector<std::string>& assignments = {},
                                       DocumentKind kind = DocumentKind::kRunFile) {
  const LoadedConfig loaded = read_run_config_text(text, "f", assignments, kind);
  CHECK(loaded.problems.empty());
  return loaded.warnings;
}

}  // namespace

TEST_CASE("settings of the loss scaler without fp16 are a warning with their place, and no mistake") {
  const std::string scaler = "training: {grad_scaler: {init_scale: 1024}}\n";
  for (const std::string precision : {"fp32", "bf16", "auto"}) {
    CAPTURE(precision);
    const auto warnings = warnings_of(scaler + "device: {precision: " + precision + "}\n");
    REQUIRE(warnings.size() == 1);
    CHECK_THAT(to_string(warnings[0]),
               StartsWith("f:1:25: training.grad_scaler: has no effect with device.precision " + precision + ": "));
  }
  CHECK(warnings_of(scaler + "device: {precision: fp16}\n").empty());
  const auto set =
      warnings_of("device: {precision: fp16}\n", {"device.precision=bf16", "training.grad_scaler.growth_interval=50"});
  REQUIRE(set.size() == 1);
  CHECK_THAT(to_string(set[0]), StartsWith("--set training.grad_scaler.growth_interval=50: training.grad_scaler: has"));
}

TEST_CASE("defaults of the loss scaler and the settings that a run keeps are no warning") {
  CHECK(warnings_of("training: {grad_scaler: {init_scale: 65536}}\n").empty());
  CHECK(warnings_of(resolved_yaml(RunConfig())).empty());
  CHECK(warnings_of("training: {grad_scaler: {init_scale: 1024}}\n", {}, DocumentKind::kOfRun).empty());
}

}  // namespace esper::test::without_effect_test
