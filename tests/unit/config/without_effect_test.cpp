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

TEST_CASE(
    "settings of another kind of host, optimizer, schedule, loss or policy are a warning each, with their place") {
  const auto warning_of = [](const std::string& text) {
    const auto warnings = warnings_of(text);
    REQUIRE(warnings.size() == 1);
    return to_string(warnings[0]);
  };
  const std::string image = "data: {kind: digits, shape: [1, 8, 8]}\n";
  CHECK(warning_of(image + "host: {kind: cnn, dropout: 0.3}\n") ==
        "f:2:28: host.dropout: has no effect with host.kind cnn: it is for host.kind mlp and transformer");
  CHECK_THAT(warning_of("host: {kind: mlp, blocks: 2}\n"), StartsWith("f:1:27: host.blocks: has no effect with"));
  CHECK_THAT(warning_of("training: {optimizer: {kind: adamw, momentum: 0.5}}\n"),
             StartsWith("f:1:47: training.optimizer.momentum: has no effect with training.optimizer.kind adamw: "));
  CHECK_THAT(warning_of("training: {schedule: {kind: cosine, gamma: 0.1}}\n"),
             StartsWith("f:1:44: training.schedule.gamma: has no effect with training.schedule.kind cosine: "));
  CHECK_THAT(warning_of("training: {huber_delta: 2}\n"), StartsWith("f:1:25: training.huber_delta: has no effect"));
  CHECK_THAT(
      warning_of("policy: {schedule: [\"2:r0c0=mlp\"]}\n"),
      StartsWith("f:1:20: policy.schedule: has no effect with policy.kind heuristic: it is for policy.kind sch"));
}

TEST_CASE("settings of the kind at hand, of a policy that an ensemble asks, and fitted defaults are no warning") {
  CHECK(warnings_of("host: {kind: mlp, hidden: [8], dropout: 0.3}\n").empty());
  CHECK(warnings_of("training: {optimizer: {kind: adamw, beta1: 0.8}, schedule: {kind: step, gamma: 0.1}}\n").empty());
  CHECK(warnings_of("training: {optimizer: {kind: adamw, momentum: 0.9}}\n").empty());  // the default
  CHECK(warnings_of("policy: {kind: ensemble, ensemble: [heuristic, schedule], schedule: [\"2:r0c0=mlp\"]}\n").empty());
  CHECK(warnings_of("data: {kind: text, path: x}\nhost: {kind: transformer, heads: 4}\n").empty());
}

TEST_CASE("defaults of the loss scaler and the settings that a run keeps are no warning") {
  CHECK(warnings_of("training: {grad_scaler: {init_scale: 65536}}\n").empty());
  CHECK(warnings_of(resolved_yaml(RunConfig())).empty());
  CHECK(warnings_of("training: {grad_scaler: {init_scale: 1024}}\n", {}, DocumentKind::kOfRun).empty());
}

}  // namespace esper::test::without_effect_test
