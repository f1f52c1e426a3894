// The lanes on a GPU. Each test is skipped, and says so, where there is none.

#include <ATen/ops/linalg_vector_norm.h>

#include <catch2/catch_test_macros.hpp>

#include "base/names.h"
#include "device/precision.h"
#include "device/rng.h"
#include "device/settings.h"
#include "lanes/evaluation_forward.h"
#include "lanes/lane/step_external_tensors.h"
#include "lanes/prepared_lane.h"
#include "lanes/step_runner.h"
#include "support/gpu.h"
#include "support/models/grow_every_step.h"
#include "support/models/growing_model.h"
#include "support/models/lane_cases.h"
#include "support/models/lanes_on_device.h"

namespace esper::test::lane_gpu_test {

using namespace esper;
using namespace esper::tests;
using config::Lane;
using esper::test::gpu_or_skip;
using esper::test::NoHostWaits;

namespace {

std::vector<LaneCase> cases_on_a_card() {
  auto cases = lane_cases();
  LaneCase half = cases[1];
  half.name = "mlp_adamw_fp16";
  half.compute = torch::kHalf;
  cases.push_back(half);
  return cases;
}

// The settings of a run while it lives, with device.deterministic.
class Deterministic {
 public:
  explicit Deterministic(torch::Device device) {
    config::DeviceConfig config;
    config.deterministic = true;
    device::apply_settings(config, device);
  }
  ~Deterministic() {
    context_.setDeterministicAlgorithms(false, /*warn_only=*/false);
    context_.setDeterministicCuDNN(deterministic_);
    context_.setBenchmarkCuDNN(benchmarks_);
    context_.setAllowTF32CuBLAS(products_);
    context_.setAllowTF32CuDNN(convolutions_);
  }

 private:
  at::Context& context_ = at::globalContext();
  const bool deterministic_ = context_.deterministicCuDNN(), benchmarks_ = context_.benchmarkCuDNN(),
             products_ = context_.allowTF32CuBLAS(), convolutions_ = context_.allowTF32CuDNN();
};

struct Runs {
  Runs(const LaneCase& c, Lane lane, torch::Device device) : model(make_model(c, device)) {
    config::StepConfig config;
    config.lane = lane;
    config.check_every = 0;
    runner = std::make_unique<lanes::StepRunner>(
        *model, config, device, lanes::RunnerServices{nullptr, nullptr, {}, [this](leyline::TelemetryEvent event) {
                                                        events.push_back(event);
                                                      }});
  }
  bool has_emitted(std::string_view name) const {
    return std::ranges::any_of(events, [&](const auto& event) { return event.description == name; });
  }
  std::unique_ptr<step::Model> model;
  std::vector<leyline::TelemetryEvent> events;
  std::unique_ptr<lanes::StepRunner> runner;
};

}  // namespace

TEST_CASE("on a card the forward of validation is a graph that has eager's output and waits for nothing") {
  const auto gpu = gpu_or_skip();
  const Deterministic deterministic(gpu);
  constexpr std::int64_t kInEager = 3, kBatches = 7;
  for (const LaneCase& c : cases_on_a_card()) {
    CAPTURE(c.name);
    const auto model = make_model(c, gpu);
    std::vector<leyline::TelemetryEvent> events;
    config::StepConfig config;
    config.lane = Lane::kGraph;
    lanes::EvaluationForward forward(*model, config, gpu,
                                     [&](leyline::TelemetryEvent event) { events.push_back(event); });
    const c10::InferenceMode inference;
    // A scope for each forward, as validation has one for each batch: autocast keeps its copies of the parameters.
    const auto computed = [&](auto& function, const torch::Tensor& inputs) {
      const device::AutocastScope autocast(gpu.type(), c.compute);
      return function(inputs);
    };
    const auto eager = [&](const torch::Tensor& inputs) {
      return model->network.forward(inputs, kasmina::Mode::kEvaluate);
    };
    for (std::uint64_t n = 0; n < kBatches; ++n) {
      const torch::Tensor inputs = batches_on(gpu, c, 1, n).front().inputs;
      for (const torch::Tensor& parameter : model->state.parameters) parameter.mul_(1.01);
      const torch::Tensor expected = computed(eager, inputs);
      std::optional<NoHostWaits> refused;
      if (static_cast<std::int64_t>(n) >= kInEager) refused.emplace();
      const torch::Tensor output = computed(forward, inputs);
      refused.reset();
      CHECK(at::equal(output, expected));
    }
    CHECK(events.empty());
    CHECK(forward.batches()[static_cast<std::size_t>(Lane::kGraph)] == kBatches - kInEager);
  }
}

TEST_CASE("on a card training and validation by turns reserve no more memory from epoch to epoch") {
  const auto gpu = gpu_or_skip();
  LaneCase whole = lane_cases()[5], ragged = whole;
  ragged.batch = 3;
  Runs runs(whole, Lane::kGraph, gpu);
  config::StepConfig config;
  config.lane = Lane::kGraph;
  lanes::EvaluationForward forward(*runs.model, config, gpu, [](const leyline::TelemetryEvent&) {});
  constexpr std::int64_t kEpochs = 12, kSteps = 50;
  std::uint64_t half_way = 0;
  for (std::int64_t epoch = 0; epoch < kEpochs; ++epoch) {
    for (std::int64_t step = epoch * kSteps; step < (epoch + 1) * kSteps; ++step) {
      runs.runner->step(batches_on(gpu, whole, 1, static_cast<std::uint64_t>(step)), {step, 1000});
    }
    {
      const c10::InferenceMode inference;
      for (const LaneCase* part : {&whole, &whole, &ragged}) forward(batches_on(gpu, *part, 1).front().inputs);
    }
    device::cuda().synchronize(gpu.index());
    if (epoch == kEpochs / 2) half_way = device::cuda().memory(gpu.index()).reserved_bytes;
  }
  CHECK(forward.batches()[static_cast<std::size_t>(Lane::kGraph)] == 3 * kEpochs - 2 * 3);
  CHECK(runs.runner->figures().steps_in(Lane::kGraph) > kEpochs * kSteps / 2);
  CHECK(device::cuda().memory(gpu.index()).reserved_bytes == half_way);
}

TEST_CASE("on a card replay and graph do what eager does, on every network and in every precision") {
  const auto gpu = gpu_or_skip();
  for (LaneCase c : cases_on_a_card()) {
    c.config.host.dropout = 0;
    for (const int accumulation : {1, 3}) {
      for (const Lane lane : {Lane::kReplay, Lane::kGraph}) {
        device::seed_all(1);
        auto a = make_model(c, gpu);
        device::seed_all(1);
        auto b = make_model(c, gpu);
        const auto example = batches_on(gpu, c, accumulation);
        const auto eager = lanes::prepare_lane(*a, Lane::kEager, example, nullptr);
        const auto fast = lanes::prepare_lane(*b, lane, example, nullptr);
        CAPTURE(c.name, accumulation, base::name_of(lane), fast.refusal);
        REQUIRE(fast.step);
        for (std::uint64_t step = 0; step < 10; ++step) {
          const auto batches = batches_on(gpu, c, accumulation, step + 10);
          eager.step(batches);
          fast.step(batches);
        }
        CHECK(largest_difference(*a, *b) < (c.compute == torch::kFloat32 ? 1e-4 : 3e-2));
      }
    }
  }
}

TEST_CASE("on a card a seed may grow, blend and be pruned at every step of an epoch") {
  const auto gpu = gpu_or_skip();
  for (const Lane lane : {Lane::kEager, Lane::kReplay, Lane::kGraph}) GrowEveryStep(lane, gpu, nullptr).run();
}

TEST_CASE("on a card no lane's step waits for the card") {
  const auto gpu = gpu_or_skip();
  for (const LaneCase& c : cases_on_a_card()) {
    for (const Lane lane : {Lane::kEager, Lane::kReplay, Lane::kGraph}) {
      auto model = make_model(c, gpu);
      const auto batches = batches_on(gpu, c, 2);
      const auto prepared = lanes::prepare_lane(*model, lane, batches, nullptr);
      CAPTURE(c.name, base::name_of(lane), prepared.refusal);
      REQUIRE(prepared.step);
      prepared.step(batches);
      device::cuda().synchronize(gpu.index());
      const NoHostWaits refused;
      for (int step = 0; step < 20; ++step) {
        step::set_learning_rate(model->state, 0.01 / (step + 1));
        CHECK_NOTHROW(prepared.step(batches));
      }
    }
  }
}

TEST_CASE("on a card the steps of a growing network wait for nothing") {
  const auto gpu = gpu_or_skip();
  for (const Lane lane : {Lane::kEager, Lane::kReplay, Lane::kGraph}) {
    const LaneCase c = growing_case();
    GrowingModel grown(c, lane, gpu);
    REQUIRE_FALSE(GrowingModel::refused(grown.apply(grown.germination("r0c1", "mlp"))));
    REQUIRE_FALSE(
        GrowingModel::refused(grown.apply(grown.command(leyline::SeedOperation::kStartTraining, "seed-0001"))));
    grown.steps(20);
    const auto batches = batches_on(gpu, c, 1);
    device::cuda().synchronize(gpu.index());
    const auto before = grown.runner->figures().steps_in(lane);
    const NoHostWaits refused;
    CAPTURE(base::name_of(lane));
    for (std::int64_t step = 20; step < 40; ++step) CHECK_NOTHROW(grown.runner->step(batches, {step, 1000}));
    CHECK(grown.runner->figures().steps_in(lane) == before + 20);
  }
}

TEST_CASE("on a card the check for waits would notice one") {
  const auto gpu = gpu_or_skip();
  const auto value = torch::ones({}, torch::TensorOptions().device(gpu));
  const NoHostWaits refused;
  CHECK_THROWS(value.item<float>());
}

TEST_CASE("on a card a graph draws other random numbers at each replay, and the same ones from the same state") {
  const auto gpu = gpu_or_skip();
  LaneCase c = lane_cases()[5];  // a transformer with dropout
  c.config.training.optimizer.lr = 0;
  auto model = make_model(c, gpu);
  const auto batches = batches_on(gpu, c, 1);
  const auto graph = lanes::prepare_lane(*model, Lane::kGraph, batches, nullptr);
  CAPTURE(graph.refusal);
  REQUIRE(graph.step);
  const auto figures = [&] { return figures_of_a_step(*model, graph, batches); };
  const lanes::StepSnapshot start(*model, gpu);
  const auto first = figures(), second = figures();
  CHECK_FALSE(at::equal(first, second));
  start.restore();
  CHECK(at::equal(figures(), first));
  CHECK(at::equal(figures(), second));
}

TEST_CASE("on a card every shape of step has a graph of its own, and a change of shape meets no stale one") {
  const auto gpu = gpu_or_skip();
  LaneCase whole = lane_cases().front(), ragged = whole;
  ragged.batch = 3;
  device::seed_all(1);
  Runs eager(whole, Lane::kEager, gpu);
  device::seed_all(1);
  Runs graph(whole, Lane::kGraph, gpu);
  for (std::uint64_t step = 0; step < 300; ++step) {
    const auto batches = batches_on(gpu, step % 4 == 3 ? ragged : whole, 1, step);
    eager.runner->step(batches, {static_cast<std::int64_t>(step), 1000});
    graph.runner->step(batches, {static_cast<std::int64_t>(step), 1000});
  }
  graph.runner->record_epoch();
  CHECK(largest_difference(*eager.model, *graph.model) < 1e-4);
  CHECK(graph.has_emitted("tolaria.graph_enabled"));
  CHECK_FALSE(graph.has_emitted("tolaria.graph_fallback"));
  CHECK(graph.runner->figures().graphs.captures == 2);
  CHECK(graph.runner->figures().graphs.replays > 200);
  CHECK(graph.runner->figures().graphs.replay_ms > 0);
}

TEST_CASE("on a card auto tries the graph, and training goes on as in eager") {
  const auto gpu = gpu_or_skip();
  const LaneCase c = lane_cases()[1];
  device::seed_all(1);
  Runs eager(c, Lane::kEager, gpu);
  device::seed_all(1);
  Runs automatic(c, Lane::kAuto, gpu);
  const auto batches = batches_on(gpu, c, 1);
  for (std::int64_t step = 0; step < 200; ++step) {
    eager.runner->step(batches, {step, 1000});
    automatic.runner->step(batches, {step, 1000});
  }
  CHECK(automatic.runner->figures().steps_in(Lane::kGraph) > 100);
  CHECK(largest_difference(*eager.model, *automatic.model) < 1e-3);
}

TEST_CASE("on a card replay and graph have eager's bits where the run is deterministic") {
  const auto gpu = gpu_or_skip();
  const Deterministic deterministic(gpu);
  for (LaneCase c : cases_on_a_card()) {
    c.config.host.dropout = 0;
    for (const Lane lane : {Lane::kReplay, Lane::kGraph}) {
      device::seed_all(1);
      auto a = make_model(c, gpu);
      device::seed_all(1);
      auto b = make_model(c, gpu);
      const auto eager = lanes::prepare_lane(*a, Lane::kEager, batches_on(gpu, c, 1), nullptr);
      const auto fast = lanes::prepare_lane(*b, lane, batches_on(gpu, c, 1), nullptr);
      CAPTURE(c.name, base::name_of(lane), fast.refusal);
      REQUIRE(fast.step);
      for (std::uint64_t step = 0; step < 10; ++step) {
        const auto batches = batches_on(gpu, c, 1, step + 10);
        eager.step(batches);
        fast.step(batches);
      }
      CHECK(largest_difference(*a, *b) == 0);
    }
  }
}

TEST_CASE("on a card an fp16 step that overflows is skipped within a graph, and halves the scale") {
  const auto gpu = gpu_or_skip();
  LaneCase c = lane_cases()[1];
  c.compute = torch::kHalf;
  auto model = make_model(c, gpu);
  auto batches = batches_on(gpu, c, 1);
  const auto graph = lanes::prepare_lane(*model, Lane::kGraph, batches, nullptr);
  CAPTURE(graph.refusal);
  REQUIRE(graph.step);
  graph.step(batches);
  const auto parameters = model->state.groups.front().parameters.flat.clone();
  const float scale = model->state.loss_scale.scale.item<float>();
  batches[0].inputs.fill_(1e30);
  graph.step(batches);
  CHECK(model->state.loss_scale.scale.item<float>() == scale / 2);
  CHECK(at::equal(model->state.groups.front().parameters.flat, parameters));
  graph.step(batches_on(gpu, c, 1));
  CHECK_FALSE(at::equal(model->state.groups.front().parameters.flat, parameters));
}

TEST_CASE("on a card averages, clipping and gradient surgery run in a graph as in eager") {
  const auto gpu = gpu_or_skip();
  LaneCase c = growing_case();
  c.config.training.clip_norm = 0.5;
  c.config.step.accumulation = 3;
  c.config.growth.aggregation.surgery = config::GradientSurgery::kPcgrad;
  std::vector<double> losses;
  for (const Lane lane : {Lane::kEager, Lane::kGraph}) {
    device::seed_all(1);
    GrowingModel grown(c, lane, gpu);
    grown.steps(5);
    for (const char* slot : {"r0c0", "r0c1"})
      REQUIRE_FALSE(GrowingModel::refused(grown.apply(grown.germination(slot, "mlp"))));
    for (const char* seed : {"seed-0001", "seed-0002"}) {
      REQUIRE_FALSE(GrowingModel::refused(grown.apply(grown.command(leyline::SeedOperation::kStartTraining, seed))));
    }
    grown.steps(30);
    CHECK(grown.runner->figures().graphs.failures == 0);
    if (lane == Lane::kGraph) CHECK(grown.runner->figures().steps_in(lane) > 10);
    losses.push_back(step::read_metrics(grown.model->state).loss);
  }
  CHECK(std::abs(losses[0] - losses[1]) < 1e-4 * std::abs(losses[0]));
}

TEST_CASE("on a card each kind of attention is captured") {
  const auto gpu = gpu_or_skip();
  auto& context = at::globalContext();
  for (const auto compute : {torch::kFloat32, torch::kBFloat16, torch::kHalf}) {
    for (const std::string_view kind : {"flash", "efficient", "cudnn", "math"}) {
      for (const double dropout : {0.0, 0.1}) {
        context.setSDPUseFlash(kind == "flash");
        context.setSDPUseMemEfficient(kind == "efficient");
        context.setSDPUseCuDNN(kind == "cudnn");
        context.setSDPUseMath(kind == "math" || compute == torch::kFloat32);
        LaneCase c = lane_cases()[5];
        c.compute = compute;
        c.config.host.dropout = dropout;
        auto model = make_model(c, gpu);
        const auto batches = batches_on(gpu, c, 1);
        const auto graph = lanes::prepare_lane(*model, Lane::kGraph, batches, nullptr);
        CAPTURE(kind, c10::toString(compute), dropout, graph.refusal);
        CHECK(graph.step);
        if (graph.step) CHECK_NOTHROW(graph.step(batches));
      }
    }
  }
  context.setSDPUseFlash(true);
  context.setSDPUseMemEfficient(true);
  context.setSDPUseCuDNN(true);
  context.setSDPUseMath(true);
}

TEST_CASE("on the second card steps run as on the first") {
  gpu_or_skip();
  if (device::cuda().device_count() < 2) SKIP("this machine has one GPU: nothing was tested on a second one");
  const auto second = device::select_device("cuda:1").device;
  const LaneCase c = lane_cases()[1];
  for (const Lane lane : {Lane::kReplay, Lane::kGraph}) {
    auto model = make_model(c, second);
    const auto batches = batches_on(second, c, 1);
    const auto fast = lanes::prepare_lane(*model, lane, batches, nullptr);
    CAPTURE(base::name_of(lane), fast.refusal);
    REQUIRE(fast.step);
    CHECK_NOTHROW(fast.step(batches));
    CHECK(std::isfinite(step::read_metrics(model->state).loss));
  }
  device::select_device("cuda:0");
}

}  // namespace esper::test::lane_gpu_test
