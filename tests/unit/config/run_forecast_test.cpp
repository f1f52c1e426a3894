#include "config/facts/run_forecast.h"

#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

#include "config/rules/fit_defaults.h"
#include "support/changed_field.h"

namespace esper::test::run_forecast_test {

using namespace esper::config;
using Catch::Matchers::ContainsSubstring;

namespace {

constexpr std::int64_t kMega = 1 << 20;

RunConfig wide() {
  RunConfig config;
  config.data.kind = DataKind::kSynthetic;
  config.host.hidden = {1024, 1024};
  config.policy.kind = PolicyKind::kNone;
  config.step.lane = Lane::kEager;
  return config;
}

// A run file of which no field is given, and what its samples look like.
struct Case {
  RunConfig config;
  esper::leyline::SampleShape sample;
};

Case growing_mlp() {
  RunConfig config = wide();
  config.policy.kind = PolicyKind::kHeuristic;
  return {config, esper::leyline::features_shape(16, 4)};
}

Case residual_cnn() {
  RunConfig config;
  config.data.kind = DataKind::kCifar10;
  config.data.gpu_dataset = Resident::kOn;
  config.host.kind = HostKind::kCnn;
  config.host.residual_blocks = 1;
  config.policy.kind = PolicyKind::kHeuristic;
  return {config, esper::leyline::image_shape(3, 32, 32, 10)};
}

Case deepened_cnn() {
  Case c = residual_cnn();
  c.config.growth.kind = GrowthKind::kDeepen;
  return c;
}

Case transformer() {
  RunConfig config;
  config.data.kind = DataKind::kText;
  config.policy.kind = PolicyKind::kHeuristic;
  return {config, esper::leyline::tokens_shape(64, 80)};
}

Case process() {
  RunConfig config;
  config.data.kind = DataKind::kProcess;
  config.data.shape = {16};
  return {config, esper::leyline::features_shape(16, 4)};
}

RunForecast fitted_forecast(RunConfig config, const esper::leyline::SampleShape& sample, std::string_view given,
                            RunsOn device) {
  fit_defaults(config, [given](std::string_view path) { return path == given; });
  return forecast(config, {.sample = sample}, device);
}

const RunInputs kInputs{.sample = esper::leyline::features_shape(16, 4)};
constexpr std::int64_t kParameters = 17 * 1024 + 1025 * 1024 + 1025 * 4;

}  // namespace

TEST_CASE("a checkpoint has the parameters, their moments and their averages") {
  RunConfig config = wide();
  config.training.optimizer.momentum = 0;
  const auto bytes = [&] { return forecast(config, kInputs, RunsOn::kCpu).checkpoint.bytes; };
  const std::int64_t plain = bytes();
  CHECK(plain > 4 * kParameters);
  CHECK(plain < 4 * kParameters + kMega);
  config.training.optimizer.momentum = 0.9;
  CHECK(bytes() == plain + 4 * kParameters);
  config.training.optimizer.kind = OptimizerKind::kAdamw;
  CHECK(bytes() == plain + 8 * kParameters);
  config.training.ema_decay = 0.9;
  CHECK(bytes() == plain + 12 * kParameters);
}

TEST_CASE("the run folder has as many checkpoints as are kept, and one that is being written") {
  RunConfig config = wide();
  config.checkpoint.keep_last = 2;
  config.checkpoint.keep_best = true;
  config.telemetry.limit_mb = 1;
  config.epochs = 1'000'000;
  const auto run = forecast(config, kInputs, RunsOn::kCpu);
  CHECK(run.disk.bytes == 4 * run.checkpoint.bytes + kMega);
  CHECK_THAT(run.disk.parts, ContainsSubstring("4 checkpoints") && ContainsSubstring("telemetry 1 MiB"));
}

TEST_CASE("memory grows with the batch, the lane and what may grow") {
  RunConfig config = wide();
  const auto bytes = [&] { return forecast(config, kInputs, RunsOn::kCpu).memory.bytes; };
  const std::int64_t plain = bytes();
  config.data.batch_size = 2048;
  CHECK(bytes() > plain + 2048 * 4 * 2 * 1024);
  config.data.batch_size = 64;
  config.step.lane = Lane::kReplay;
  const std::int64_t replay = bytes();
  CHECK(replay > plain + 8 * kParameters);
  config.step.lane = Lane::kCompiled;
  CHECK(bytes() > replay + 500 * kMega);
  config.step.lane = Lane::kEager;
  config.policy.kind = PolicyKind::kHeuristic;
  const auto growing = forecast(config, kInputs, RunsOn::kCpu);
  CHECK(growing.parameters == kParameters);
  CHECK(growing.grown_parameters > kParameters);
  CHECK(growing.memory.bytes > plain + 8 * growing.grown_parameters);
}

TEST_CASE("on a GPU the network is on the device, and the host keeps data and process") {
  const RunConfig config = wide();
  const auto cpu = forecast(config, kInputs, RunsOn::kCpu), gpu = forecast(config, kInputs, RunsOn::kGpu);
  CHECK(cpu.device_memory.bytes == 0);
  CHECK(gpu.device_memory.bytes > 12 * kParameters);
  CHECK_THAT(gpu.memory.parts, !ContainsSubstring("gradients") && ContainsSubstring("the state to go back to"));
  CHECK_THAT(gpu.device_memory.parts, !ContainsSubstring("the state to go back to"));
  RunConfig limited = config;
  limited.safety.snapshot_limit_mb = 1;
  CHECK_THAT(forecast(limited, kInputs, RunsOn::kGpu).memory.parts, !ContainsSubstring("the state to go back to"));
  CHECK_THAT(cpu.memory.parts, ContainsSubstring("gradients") && ContainsSubstring("process"));
}

TEST_CASE("what is not known is called unknown") {
  RunConfig config = wide();
  const auto run = forecast(config, {}, RunsOn::kCpu);
  CHECK(run.memory.bytes == 0);
  CHECK_THAT(run.memory.parts, ContainsSubstring("unknown: the run file does not show what samples of kind synthetic"));
  CHECK(run.checkpoint.bytes == 0);
  CHECK(run.disk.bytes > 0);  // of the telemetry
  config.host.kind = HostKind::kExported;
  CHECK_THAT(forecast(config, kInputs, RunsOn::kCpu).memory.parts, ContainsSubstring("exported host's weights"));
  CHECK(forecast(config, {.host_bytes = 4000 * 1000}, RunsOn::kCpu).parameters == 1000 * 1000);
}

TEST_CASE("what the forecast does not read changes nothing in it, nor in the defaults that it reads") {
  const Case c = GENERATE(growing_mlp(), residual_cnn(), deepened_cnn(), transformer(), process());
  for (const RunsOn device : {RunsOn::kCpu, RunsOn::kGpu}) {
    const auto before = fitted_forecast(c.config, c.sample, "", device);
    RunConfig all = c.config;
    std::size_t changed = 0;
    for (const FieldRow& row : field_table(all)) {
      if (row.is_section() || forecast_reads(row.path)) continue;
      CAPTURE(row.path);
      RunConfig config = c.config;
      const auto rows = field_table(config);
      if (!change_field(std::ranges::find(rows, row.path, &FieldRow::path)->value)) continue;
      if (row.path == "growth.deepen.at") config.growth.deepen.at = "10";  // one that is an epoch
      CHECK(fitted_forecast(config, c.sample, row.path, device) == before);
      ++changed;
    }
    CHECK(changed > 100);
  }
}

TEST_CASE("the forecast reads fields of which it depends, and not their neighbours") {
  for (const char* field : {"training.optimizer.kind", "training.optimizer.momentum", "training.ema_decay",
                            "data.batch_size", "host.hidden", "step.lane", "epochs", "growth.training", "task"}) {
    CAPTURE(field);
    CHECK(forecast_reads(field));
  }
  for (const char* field :
       {"training.optimizer.lr", "policy.heuristic.plateau_epochs", "data.validation_fraction", "data.augment.flip",
        "data.path.x", "host.weights", "host.freeze", "telemetry.queue", "seed", "name", "host", ""}) {
    CAPTURE(field);
    CHECK_FALSE(forecast_reads(field));
  }
  RunConfig config;
  std::size_t read = 0;
  for (const FieldRow& row : field_table(config)) {
    if (!forecast_reads(row.path)) continue;
    CAPTURE(row.path);
    CHECK_FALSE(row.is_section());
    ++read;
  }
  CHECK(read < 60);
}

TEST_CASE("sizes as text") {
  CHECK(bytes_text(0) == "0 KiB");
  CHECK(bytes_text(1) == "1 KiB");
  CHECK(bytes_text(740 * kMega) == "740 MiB");
  CHECK(bytes_text(6 * 1024 * kMega + 100 * kMega) == "6.1 GiB");
}

}  // namespace esper::test::run_forecast_test
