// With several threads a compiled step has the same bits in each run, where the run is to be deterministic.
#include <ATen/Context.h>

#include <catch2/catch_test_macros.hpp>
#include <set>

#include "integration/lanes/lane_room.h"
#include "lanes/lane/step_external_tensors.h"

namespace esper::test::deterministic_lanes_test {

using namespace esper;
using namespace esper::tests;

namespace {

constexpr int kThreads = 2, kRepetitions = 30;

// As a run sets the process up.
class DeterministicThreads {
 public:
  DeterministicThreads() {
    at::set_num_threads(kThreads);
    at::globalContext().setDeterministicAlgorithms(true, /*warn_only=*/false);
    at::globalContext().setDeterministicFillUninitializedMemory(false);
  }
  ~DeterministicThreads() {
    at::globalContext().setDeterministicAlgorithms(false, /*warn_only=*/false);
    at::set_num_threads(threads_);
  }
  DeterministicThreads(const DeterministicThreads&) = delete;

 private:
  int threads_ = at::get_num_threads();
};

// Each character occurs some thirty times in a batch: its row of the embedding is the sum of as many gradients.
LaneCase text() {
  LaneCase transformer = lane_case("text", config::HostKind::kTransformer, leyline::tokens_shape(64, 65), 32);
  transformer.config.host.layers = transformer.config.host.segments = 1;
  transformer.config.host.embedding = 64;
  transformer.config.host.heads = 4;
  return transformer;
}

std::vector<torch::Tensor> state_of(const step::Model& model) {
  std::vector<torch::Tensor> state;
  for (const auto& [name, tensor] : step::named_tensors(model.state)) state.push_back(tensor.detach().clone());
  return state;
}

}  // namespace

TEST_CASE("a compiled step of several threads has the same bits each time") {
  test::need_python_with_torch();
  const DeterministicThreads threads;
  auto settings = compile_service_settings();
  settings.threads = kThreads;
  settings.numerics.deterministic = true;
  const LaneRoom room;
  const auto compile_service = LaneRoom::new_compile_service(settings);
  const LaneCase c = text();
  const auto model = make_model(c);
  const auto batch = make_batches(c, 1);
  const auto lane = lanes::prepare_lane(*model, config::Lane::kCompiled, batch, compile_service.get(), c.config.step,
                                        [](const auto&) {});
  INFO(lane.refusal);
  REQUIRE(lane.step);
  const lanes::StepSnapshot start(*model, torch::kCPU);
  lane.step(batch);
  const auto first = state_of(*model);
  int differing = 0;
  for (int n = 0; n < kRepetitions; ++n) {
    start.restore();
    lane.step(batch);
    const auto again = state_of(*model);
    differing += std::ranges::equal(first, again, [](const auto& a, const auto& b) { return a.equal(b); }) ? 0 : 1;
  }
  CHECK(differing == 0);
}

TEST_CASE("programs that are compiled under other settings have other names") {
  const LaneRoom room;
  const LaneCase c = lane_cases().front();
  const auto model = make_model(c);
  const program::SymbolicProgram program{program_of(*model, make_batches(c, 1))};
  std::set<std::string> names;
  for (const char* device : {"cpu", "cuda NVIDIA H200"}) {
    for (const bool deterministic : {false, true}) {
      for (const bool tf32 : {false, true}) {
        auto settings = compile_service_settings();
        settings.device = device;
        settings.numerics = {deterministic, tf32};
        names.insert(program::CompileService(settings, {LaneRoom::cache(), {}}).key(program, "default"));
      }
    }
  }
  CHECK(names.size() == 2 + 4);  // TF32 is nothing to the CPU
}

}  // namespace esper::test::deterministic_lanes_test
