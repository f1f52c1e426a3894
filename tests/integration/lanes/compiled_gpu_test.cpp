// Compiled steps on a GPU, with the real compile worker. Each test is skipped, and says so, where there is none.

#include <stdlib.h>

#include <catch2/catch_test_macros.hpp>
#include <filesystem>

#include "base/names.h"
#include "device/rng.h"
#include "device/settings.h"
#include "integration/lanes/python_with_torch.h"
#include "lanes/lane/step_external_tensors.h"
#include "lanes/prepared_lane.h"
#include "lanes/step_runner.h"
#include "support/gpu.h"
#include "support/models/lane_cases.h"
#include "support/models/lanes_on_device.h"

namespace esper::test::compiled_gpu_test {

using namespace esper;
using namespace esper::tests;
using config::CompileMode;
using config::Lane;
namespace fs = std::filesystem;

namespace {

// A cache that starts empty, for all tests of this process.
const fs::path& cache() {
  static const fs::path folder = [] {
    std::string name = fs::temp_directory_path() / "esper_gpu_cache_XXXXXX";
    REQUIRE(mkdtemp(name.data()) != nullptr);
    fs::create_directories(fs::path(name) / "programs");
    fs::create_directories(fs::path(name) / "headers");
    fs::permissions(fs::path(name) / "programs", fs::perms::owner_all);
    fs::permissions(fs::path(name) / "headers", fs::perms::owner_all);
    return fs::path(name);
  }();
  return folder;
}

// As a run has them by default.
class RunSettings {
 public:
  explicit RunSettings(torch::Device device) : device_(device) {
    device::apply_settings(config::DeviceConfig{}, device);
  }
  ~RunSettings() {
    config::DeviceConfig none;
    none.deterministic = none.tf32 = false;
    device::apply_settings(none, device_);
  }
  RunSettings(const RunSettings&) = delete;

  static program::Numerics numerics() { return {.deterministic = true, .tf32 = true}; }

 private:
  torch::Device device_;
};

std::unique_ptr<program::CompileService> compile_service(torch::Device device, CompileMode mode = CompileMode::kDefault,
                                                         program::Numerics numerics = {}) {
  need_python_with_torch();
  program::CompileServiceSettings settings;
  settings.python = python_path();
  settings.torch_version = ESPER_LIBTORCH;
  settings.device = device.is_cuda() ? "cuda " + device::cuda().facts(device.index()).name : "cpu";
  settings.numerics = numerics;
  settings.threads = 1;
  settings.compile.mode = mode;
  settings.compile.deadline = std::chrono::minutes(5);
  auto service = std::make_unique<program::CompileService>(
      settings, program::CompileFolders{cache() / "programs", cache() / "headers"});
  INFO(service->problem());
  REQUIRE(service->problem().empty());
  return service;
}

// Ten steps in the compiled lane end where eager's do.
void check_steps(LaneCase c, torch::Device device, program::CompileService& service) {
  c.config.host.dropout = 0;
  device::seed_all(1);
  auto a = make_model(c, device);
  device::seed_all(1);
  auto b = make_model(c, device);
  const auto example = batches_on(device, c, 1, 3);
  const auto eager = lanes::prepare_lane(*a, Lane::kEager, example, nullptr);
  const auto compiled = lanes::prepare_lane(*b, Lane::kCompiled, example, &service);
  CAPTURE(c.name, compiled.refusal, compiled.warmup_ms);
  REQUIRE(compiled.step);
  for (std::uint64_t step = 0; step < 10; ++step) {
    const auto batches = batches_on(device, c, 1, step + 10);
    eager.step(batches);
    compiled.step(batches);
  }
  CHECK(largest_difference(*a, *b) < (c.compute == torch::kFloat32 ? 1e-3 : 5e-2));
}

}  // namespace

TEST_CASE("on a card steps are compiled, one network after another, and do what eager does") {
  const auto gpu = gpu_or_skip();
  const auto service = compile_service(gpu);
  for (const LaneCase& c : lane_cases()) {
    const bool has_another_like_it = c.name == "linear_sgd" || c.name == "mlp_wide_bf16" || c.name == "mlp_wide";
    if (!has_another_like_it) check_steps(c, gpu, *service);
  }
}

TEST_CASE("on a card kernels may be chosen by timing") {
  const auto gpu = gpu_or_skip();
  const auto service = compile_service(gpu, CompileMode::kMaxAutotune);
  check_steps(lane_cases()[1], gpu, *service);
}

TEST_CASE("a package that was compiled for a card is found and loaded again") {
  const auto gpu = gpu_or_skip();
  const auto first = compile_service(gpu);
  check_steps(lane_cases()[0], gpu, *first);
  const auto again = compile_service(gpu);
  const auto begin = std::chrono::steady_clock::now();
  check_steps(lane_cases()[0], gpu, *again);
  CHECK(std::chrono::steady_clock::now() - begin < std::chrono::seconds(5));
}

TEST_CASE("steps on the CPU are compiled on a machine with a card, too") {
  gpu_or_skip();
  const torch::Device cpu(torch::kCPU);
  const auto service = compile_service(cpu);
  check_steps(lane_cases()[0], cpu, *service);
}

TEST_CASE("on a card a compiled step draws other random numbers at each run, as eager does") {
  const auto gpu = gpu_or_skip();
  const RunSettings settings(gpu);  // an embedding's gradients are otherwise added in any order
  const auto service = compile_service(gpu, CompileMode::kDefault, RunSettings::numerics());
  LaneCase c = lane_cases()[5];
  c.config.training.optimizer.lr = 0;
  auto model = make_model(c, gpu);
  const auto batches = batches_on(gpu, c, 1, 3);
  const auto compiled = lanes::prepare_lane(*model, Lane::kCompiled, batches, service.get());
  CAPTURE(compiled.refusal);
  REQUIRE(compiled.step);
  const auto figures = [&] { return figures_of_a_step(*model, compiled, batches); };
  const lanes::StepSnapshot start(*model, gpu);
  const auto first = figures(), second = figures();
  CHECK_FALSE(at::equal(first, second));
  start.restore();
  CHECK(at::equal(figures(), first));
}

TEST_CASE("on a card auto comes to the compiled step, captured as a graph") {
  const auto gpu = gpu_or_skip();
  const auto service = compile_service(gpu);
  const LaneCase c = lane_cases()[1];
  auto model = make_model(c, gpu);
  config::StepConfig config;
  config.lane = Lane::kCompiled;
  std::vector<std::string> reported;
  lanes::RunnerServices services;
  services.compile_service = service.get();
  services.emit = [&](const leyline::TelemetryEvent& event) { reported.emplace_back(event.description); };
  lanes::StepRunner runner(*model, config, gpu, std::move(services));
  const auto batches = batches_on(gpu, c, 1, 3);
  for (std::int64_t step = 0; step < 200; ++step) runner.step(batches, {step, 1000});
  runner.record_epoch();
  for (const std::string& name : reported) INFO(name);
  CHECK(runner.figures().steps_in(Lane::kCompiled) > 100);
  CHECK(runner.figures().graphs.replays > 100);
  CHECK(runner.figures().graphs.failures == 0);
}

TEST_CASE("on a card a deep convolutional network's program is used although TF32 moves its steps") {
  const auto gpu = gpu_or_skip();
  const RunSettings settings(gpu);
  const auto service = compile_service(gpu, CompileMode::kDefault, RunSettings::numerics());
  LaneCase c = lane_case("images", config::HostKind::kCnn, leyline::image_shape(3, 32, 32, 10), 128);
  c.config.host.blocks = 6;
  c.config.host.pool_layers = 5;
  c.config.host.base_channels = 16;
  c.config.training.optimizer.momentum = 0.9;
  const auto model = make_model(c, gpu);
  config::StepConfig config;
  config.lane = Lane::kCompiled;
  std::vector<std::string> refused;
  lanes::RunnerServices services;
  services.compile_service = service.get();
  services.emit = [&](const leyline::TelemetryEvent& event) {
    if (event.description == "tolaria.lane_refused") refused.push_back(event.attributes.at("reason"));
  };
  lanes::StepRunner runner(*model, config, gpu, std::move(services));
  for (std::int64_t step = 0; step < 20; ++step) {
    runner.step(batches_on(gpu, c, 1, static_cast<std::uint64_t>(step)), {step, 1000});
  }
  CAPTURE(refused);
  CHECK(runner.figures().steps_in(Lane::kCompiled) > 10);
}

TEST_CASE("on a card a compiled step of a text network has the same bits each time where the run is deterministic") {
  const auto gpu = gpu_or_skip();
  const RunSettings settings(gpu);
  const auto service = compile_service(gpu, CompileMode::kDefault, RunSettings::numerics());
  LaneCase c = lane_cases()[5];
  c.config.host.dropout = 0;
  const auto model = make_model(c, gpu);
  const auto batches = batches_on(gpu, c, 1, 3);
  const auto compiled = lanes::prepare_lane(*model, Lane::kCompiled, batches, service.get());
  CAPTURE(compiled.refusal);
  REQUIRE(compiled.step);
  const lanes::StepSnapshot start(*model, gpu);
  const auto parameters_after_a_step = [&] {
    start.restore();
    compiled.step(batches);
    std::vector<torch::Tensor> parameters;
    for (const torch::Tensor& parameter : model->state.parameters) parameters.push_back(parameter.detach().clone());
    return parameters;
  };
  const auto first = parameters_after_a_step();
  for (int n = 0; n < 20; ++n) {
    CHECK(
        std::ranges::equal(first, parameters_after_a_step(), [](const auto& a, const auto& b) { return a.equal(b); }));
  }
}

}  // namespace esper::test::compiled_gpu_test
