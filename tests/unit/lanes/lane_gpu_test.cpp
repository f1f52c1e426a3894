// The lanes on a card. Each test is skipped, and says so, where there is none.

#include <ATen/ops/linalg_vector_norm.h>

#include <catch2/catch_test_macros.hpp>

#include "base/names.h"
#include "device/rng.h"
#include "lanes/lane/step_external_tensors.h"
#include "lanes/prepared_lane.h"
#include "lanes/step_runner.h"
#include "program/capture.h"
#include "support/gpu.h"
#include "support/grow_every_step.h"
#include "support/lane_cases.h"

namespace esper::test::lane_gpu_test {

using namespace esper;
using namespace esper::tests;
using config::Lane;
using esper::test::gpu_or_skip;

namespace {

std::vector<step::Microbatch> batches_on(torch::Device device, const LaneCase& c, int count, std::uint64_t seed = 3) {
  auto batches = make_batches(c, count, seed);
  for (auto& [inputs, targets] : batches) {
    inputs = inputs.to(device);
    targets = targets.to(device);
  }
  return batches;
}

std::vector<LaneCase> cases_on_a_card() {
  auto cases = lane_cases();
  LaneCase half = cases[1];
  half.name = "mlp_adamw_fp16";
  half.compute = torch::kHalf;
  cases.push_back(half);
  return cases;
}

double largest_difference(const step::Model& a, const step::Model& b) {
  double largest = 0;
  const auto left = step::named_tensors(a.state), right = step::named_tensors(b.state);
  for (std::size_t i = 0; i < left.size(); ++i) {
    const auto x = left[i].tensor.to(torch::kDouble), y = right[i].tensor.to(torch::kDouble);
    const double scale = 1 + x.abs().max().item<double>();
    largest = std::max(largest, (x - y).abs().max().item<double>() / scale);
  }
  return largest;
}

// While it lives, a wait of the host for the card throws.
class NoHostWaits {
 public:
  NoHostWaits() { device::cuda().set_host_waits(device::HostWaits::kRefused); }
  ~NoHostWaits() { device::cuda().set_host_waits(device::HostWaits::kAllowed); }
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
        const auto eager = lanes::prepare_lane(*a, Lane::kEager, example, gpu, nullptr);
        const auto fast = lanes::prepare_lane(*b, lane, example, gpu, nullptr);
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
      const auto prepared = lanes::prepare_lane(*model, lane, batches, gpu, nullptr);
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
  const auto graph = lanes::prepare_lane(*model, Lane::kGraph, batches, gpu, nullptr);
  CAPTURE(graph.refusal);
  REQUIRE(graph.step);
  const auto gradients_of_a_step = [&] {
    graph.step(batches);
    return model->state.gradients.clone();
  };
  const lanes::StepSnapshot start(*model, gpu);
  const auto first = gradients_of_a_step(), second = gradients_of_a_step();
  CHECK_FALSE(at::equal(first, second));
  start.restore();
  CHECK(at::equal(gradients_of_a_step(), first));
  CHECK(at::equal(gradients_of_a_step(), second));
}

TEST_CASE("on a card every shape of step has a graph of its own, and a change of shape meets no stale one") {
  const auto gpu = gpu_or_skip();
  LaneCase whole = lane_cases().front(), ragged = whole;
  ragged.batch = 3;
  device::seed_all(1);
  Runs eager(whole, Lane::kEager, gpu);
  device::seed_all(1);
  Runs graph(whole, Lane::kGraph, gpu);
  for (std::uint64_t step = 0; step < 40; ++step) {
    const auto batches = batches_on(gpu, step % 4 == 3 ? ragged : whole, 1, step);
    eager.runner->step(batches, {static_cast<std::int64_t>(step), 100});
    graph.runner->step(batches, {static_cast<std::int64_t>(step), 100});
  }
  graph.runner->record_epoch();
  CHECK(largest_difference(*eager.model, *graph.model) < 1e-4);
  CHECK(graph.has_emitted("tolaria.graph_enabled"));
  CHECK_FALSE(graph.has_emitted("tolaria.graph_fallback"));
  CHECK(graph.runner->figures().graphs.captures == 2);
  CHECK(graph.runner->figures().graphs.replays > 30);
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

TEST_CASE("on a card a step that cannot be captured reports where it failed, and the next one can be captured") {
  const auto gpu = gpu_or_skip();
  const auto value = torch::ones({1024}, torch::TensorOptions().device(gpu));
  try {
    program::Capture(gpu, [&] { value.sum().item<float>(); }, 1);
    FAIL("a wait was captured");
  } catch (const program::CaptureFailure& failure) {
    CHECK(failure.stage == "capture");
    CHECK_FALSE(std::string(failure.what()).empty());
  }
  CHECK(value.sum().item<float>() == 1024);
  auto kept = torch::zeros({1024}, value.options());
  for (int round = 0; round < 3; ++round) {
    program::Capture capture(gpu, [&] { kept.add_(value * 2); }, 1);
    kept.zero_();
    for (int i = 0; i < 5; ++i) capture.replay();
    CHECK(kept.sum().item<float>() == 10 * 1024);
  }
}

TEST_CASE("on a card captures share their memory, and give it back") {
  const auto gpu = gpu_or_skip();
  const auto value = torch::ones({1 << 20}, torch::TensorOptions().device(gpu));
  auto kept = torch::zeros({1 << 20}, value.options());
  const auto step = [&] { kept.add_((value * 2).exp_()); };
  {
    const program::Capture warm(gpu, step, 1);
  }
  const auto before = device::cuda().memory(gpu.index()).used_bytes;
  {
    const program::Capture first(gpu, step, 0);
    const auto one = device::cuda().memory(gpu.index()).reserved_bytes;
    const program::Capture second(gpu, step, 0);
    CHECK(device::cuda().memory(gpu.index()).reserved_bytes == one);
  }
  CHECK(device::cuda().memory(gpu.index()).used_bytes == before);
}

}  // namespace esper::test::lane_gpu_test
