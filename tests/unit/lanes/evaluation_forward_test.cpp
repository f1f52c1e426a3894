// Validation's forward: eager's output whichever way it runs, while parameters, alphas and the structure change.

#include "lanes/evaluation_forward.h"

#include <catch2/catch_test_macros.hpp>

#include "device/precision.h"
#include "support/faults/armed_fault.h"
#include "support/faults/failing_allocator.h"
#include "support/models/grown_model.h"
#include "support/models/host_package.h"

namespace esper::test::evaluation_forward_test {

using namespace esper;
using namespace esper::tests;
using LaneId = config::Lane;

namespace {

// Once as it is, once recorded, once compared.
constexpr std::int64_t kInEager = 3;

class Forward {
 public:
  Forward(const LaneCase& c, step::Model& model, LaneId lane = LaneId::kReplay) : case_(c), model_(model) {
    config::StepConfig config;
    config.lane = lane;
    forward_.emplace(model, config, torch::kCPU, [this](leyline::TelemetryEvent event) { events.push_back(event); });
  }

  torch::Tensor inputs(std::uint64_t seed) const { return make_batches(case_, 1, seed).front().inputs; }
  torch::Tensor run(const torch::Tensor& inputs) {
    return in_validation([&] { return (*forward_)(inputs); });
  }
  torch::Tensor expected(const torch::Tensor& inputs) const {
    return in_validation([&] { return model_.network.forward(inputs, kasmina::Mode::kEvaluate); });
  }
  // Of as many batches.
  bool has_eagers_output(int batches, std::uint64_t seed = 1) {
    bool same = true;
    for (int n = 0; n < batches; ++n) {
      const auto batch = inputs(seed + static_cast<std::uint64_t>(n));
      same = at::equal(run(batch), expected(batch)) && same;
    }
    return same;
  }
  std::int64_t batches(LaneId lane) const { return forward_->batches()[static_cast<std::size_t>(lane)]; }

  std::vector<leyline::TelemetryEvent> events;

 private:
  template <class Work>
  torch::Tensor in_validation(const Work& work) const {
    const c10::InferenceMode inference;
    const device::AutocastScope autocast(c10::DeviceType::CPU, case_.compute);
    return work();
  }

  LaneCase case_;
  step::Model& model_;
  std::optional<lanes::EvaluationForward> forward_;
};

void train(step::Model& model, const LaneCase& c, std::uint64_t seed) {
  step::train_step(model.state, model.settings, make_batches(c, 1, seed), step::training_forward(model.network));
}

}  // namespace

TEST_CASE("on every network the replayed forward has eager's output, while the network is trained") {
  for (const LaneCase& c : lane_cases()) {
    CAPTURE(c.name);
    const auto model = make_model(c);
    Forward forward(c, *model);
    for (std::uint64_t epoch = 0; epoch < 3; ++epoch) {
      CHECK(forward.has_eagers_output(2, 10 * epoch));
      train(*model, c, epoch);
    }
    CHECK(forward.batches(LaneId::kEager) == kInEager);
    CHECK(forward.batches(LaneId::kReplay) == 6 - kInEager);
    CHECK(forward.events.empty());
  }
}

TEST_CASE("each shape of inputs has its own forward, and an output is its caller's") {
  const LaneCase c = lane_cases().front();
  const auto model = make_model(c);
  Forward forward(c, *model);
  for (int n = 0; n < 5; ++n) {
    const auto whole = forward.inputs(static_cast<std::uint64_t>(n)), part = whole.narrow(0, 0, 3).contiguous();
    const auto first = forward.run(whole), second = forward.run(part), third = forward.run(whole.neg());
    CHECK(at::equal(first, forward.expected(whole)));
    CHECK(at::equal(second, forward.expected(part)));
    CHECK(at::equal(third, forward.expected(whole.neg())));
  }
  CHECK(forward.batches(LaneId::kReplay) == 15 - 2 * kInEager);
}

TEST_CASE("seeds act as they do, blended in further or removed") {
  const LaneCase c = grown_case();
  const auto model = grown_model(c, 2);
  Forward forward(c, *model);
  CHECK(forward.has_eagers_output(5));
  const auto before = forward.run(forward.inputs(1));
  const auto seed = model->network.parameter_groups().back().id;
  set_scalar(*model, seed + ".alpha", 0.9);
  CHECK(forward.has_eagers_output(5));
  CHECK_FALSE(at::equal(forward.run(forward.inputs(1)), before));
  CHECK(forward.batches(LaneId::kEager) == kInEager);
  leyline::AdaptationCommand command;
  command.command_id = "prune";
  command.command_type = leyline::CommandType::kSeed;
  command.seed_operation.emplace();
  command.seed_operation->operation = leyline::SeedOperation::kCull;
  command.seed_operation->slot = "r0c1";
  command.target_seed_id = seed;
  model->network.apply(command, forward.inputs(1));
  step::follow_structure(*model);
  CHECK(forward.has_eagers_output(5));
  CHECK(forward.batches(LaneId::kEager) == 2 * kInEager);
}

TEST_CASE("an output that is not finite is compared with nothing, and the next one is") {
  const LaneCase c = lane_cases().front();
  const auto model = make_model(c);
  Forward forward(c, *model);
  CHECK(forward.has_eagers_output(2));
  const torch::Tensor parameter = model->state.parameters.front().detach(), before = parameter.clone();
  torch::Tensor(parameter).fill_(std::numeric_limits<float>::quiet_NaN());
  CHECK(forward.run(forward.inputs(3)).isnan().any().item<bool>());
  torch::Tensor(parameter).copy_(before);
  CHECK(forward.has_eagers_output(3));
  CHECK(forward.batches(LaneId::kReplay) == 2);
  CHECK(forward.events.empty());
}

TEST_CASE("a forward that writes a buffer runs as it is written, once for each batch") {
  test::PackageFiles files;
  files.evaluate["operations"].push_back(
      nlohmann::json::parse(R"(["aten::add_.Scalar", [["tensor", 4], ["int", 1], ["int", 1]], [["tensor", 4]]])"));
  const test::TemporaryFolder folder;
  LaneCase c = lane_case("counts", config::HostKind::kExported, leyline::features_shape(4, 3), 8);
  c.config.host.path = test::write_package(folder, files);
  const auto model = make_model(c);
  Forward forward(c, *model);
  for (std::uint64_t n = 0; n < 6; ++n) forward.run(forward.inputs(n));
  for (const auto& [id, tensor] : model->network.buffers()) {
    if (id == "host.count") CHECK(tensor.item<std::int64_t>() == 6);
  }
  CHECK(forward.batches(LaneId::kEager) == 6);
  REQUIRE(forward.events.size() == 1);
  CHECK(forward.events.front().attributes.at("reason") == "validation: it writes host.count");
}

TEST_CASE("in lane eager the forward runs as it is written") {
  const LaneCase c = lane_cases().front();
  const auto model = make_model(c);
  Forward forward(c, *model, LaneId::kEager);
  CHECK(forward.has_eagers_output(5));
  CHECK(forward.batches(LaneId::kEager) == 5);
}

TEST_CASE("a forward that cannot be recorded stays as it is, and is reported once") {
  const LaneCase c = lane_cases().front();
  const auto model = make_model(c);
  Forward forward(c, *model);
  const test::ArmedFault fault("lanes.recording");
  CHECK(forward.has_eagers_output(5));
  CHECK(forward.batches(LaneId::kReplay) == 0);
  REQUIRE(forward.events.size() == 1);
  CHECK(forward.events.front().description == "tolaria.lane_refused");
  CHECK(forward.events.front().attributes.at("reason") == "validation: fault point lanes.recording");
}

TEST_CASE("wherever memory runs out while the forward is recorded or compared, validation has its output") {
  const LaneCase c = lane_cases().front();
  auto& memory = test::FailingAllocator::instance();
  int refused = 0;
  for (int n = 1;; ++n) {
    CAPTURE(n);
    const auto model = make_model(c);
    Forward forward(c, *model);
    const auto first = forward.inputs(1), second = forward.inputs(2), third = forward.inputs(3);
    forward.run(first);
    memory.fail_at(n);
    bool ran_out = false;  // of eager's own
    const auto output_of = [&](const torch::Tensor& inputs) -> torch::Tensor {
      try {
        return forward.run(inputs);
      } catch (const std::exception&) {
        ran_out = true;
        return {};
      }
    };
    const auto recorded = output_of(second), compared = output_of(third);
    const bool failed = memory.fired();
    if (recorded.defined()) CHECK(at::equal(recorded, forward.expected(second)));
    if (compared.defined()) CHECK(at::equal(compared, forward.expected(third)));
    CHECK(forward.has_eagers_output(3));
    if (!failed) break;
    CHECK((ran_out || forward.events.size() == 1));
    refused += forward.events.empty() ? 0 : 1;
  }
  CHECK(refused > 2);  // the places of outputs, values and intermediate results
}

}  // namespace esper::test::evaluation_forward_test
