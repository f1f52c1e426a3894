#include "config/rules/doubtful_settings.h"

#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <string>
#include <vector>

#include "config/loading/load.h"

namespace esper::test::doubtful_settings_test {

using namespace esper::config;
using Catch::Matchers::StartsWith;

namespace {

std::vector<base::Problem> warnings_of(const std::string& init_scale, DocumentKind kind = DocumentKind::kRunFile) {
  const std::string text = "training: {grad_scaler: {init_scale: " + init_scale + "}}\ndevice: {precision: fp16}\n";
  const LoadedConfig loaded = read_run_config_text(text, "f", {}, kind);
  CHECK(loaded.problems.empty());
  return loaded.warnings;
}

}  // namespace

TEST_CASE("a loss scale that makes gradients smaller is a warning with its place, and no mistake") {
  for (const std::string scale : {"1e-09", "0.5"}) {
    CAPTURE(scale);
    const auto warnings = warnings_of(scale);
    REQUIRE(warnings.size() == 1);
    CHECK_THAT(to_string(warnings[0]),
               StartsWith("f:1:38: training.grad_scaler.init_scale: " + scale + " is below 1 and makes gradients"));
    CHECK(warnings_of(scale, DocumentKind::kOfRun).empty());
  }
  CHECK(warnings_of("1").empty());
  CHECK(warnings_of("1024").empty());
}

TEST_CASE("a loss scale below 1 without fp16 has no effect, and is warned of as such alone") {
  RunConfig config;
  config.training.grad_scaler.init_scale = 0.5;
  CHECK(doubtful_settings(config).empty());
  config.device.precision = Precision::kFp16;
  CHECK(doubtful_settings(config).size() == 1);
}

}  // namespace esper::test::doubtful_settings_test
