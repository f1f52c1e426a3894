#include "step/model.h"

#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_exception.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <exception>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "device/out_of_memory.h"
#include "leyline/seed_command.h"
#include "support/faults/failing_allocator.h"
#include "support/models/host_package.h"
#include "support/models/lane_cases.h"

namespace esper::test::model_test {

using namespace esper;
using namespace esper::tests;
using Catch::Matchers::ContainsSubstring;
using Catch::Matchers::MessageMatches;

TEST_CASE("classes that the data turn out not to have are refused by field before training") {
  LaneCase c = lane_case("classes", config::HostKind::kMlp, leyline::features_shape(6, 5), 4);
  auto& classes = c.config.growth.aggregation.classes;
  classes = {"r0c0=0,4", "r0c1=3"};
  CHECK_NOTHROW(make_model(c));
  classes = {"r0c0=0,4", "r0c1=3,12", "r0c1=5"};
  CHECK_THROWS_MATCHES(
      make_model(c), base::Error,
      MessageMatches(
          ContainsSubstring("growth.aggregation.classes[1]: there is no class 12; the data have 5, 0 to 4\n") &&
          ContainsSubstring("growth.aggregation.classes[2]: there is no class 5")));
}

TEST_CASE("outputs of an imported language model beyond the data's tokens weigh 1") {
  const test::TemporaryFolder folder;
  test::PackageFiles files;
  files.description["input"]["dtype"] = "int64";
  files.description["output"] = {test::kPackageInputs, test::kPackageOutputs};
  const auto sample = leyline::tokens_shape(test::kPackageInputs, test::kPackageOutputs - 1);
  LaneCase c = lane_case("weights", config::HostKind::kExported, sample, 4);
  c.config.host.path = test::write_package(folder, files);
  c.config.training.class_weights = {2, 3};
  CHECK(torch::equal(make_model(c)->state.class_weights, torch::tensor({2.F, 3.F, 1.F})));
  c.config.training.class_weights = {2, 3, 4};
  CHECK_THROWS_MATCHES(make_model(c), base::Error,
                       MessageMatches(ContainsSubstring("has 3 weights, but the data have 2 classes")));
}

TEST_CASE("a seed's optimizer starts when its training does") {
  LaneCase c = lane_case("late", config::HostKind::kMlp, leyline::features_shape(6, 5), 4);
  c.config.training.optimizer.kind = config::OptimizerKind::kAdamw;
  c.config.training.optimizer.weight_decay = 0.1;
  const auto model = make_model(c);
  const auto probe = at::randn({4, 6}, at::detail::createCPUGenerator(5));
  const auto apply = [&](const leyline::AdaptationCommand& command) {
    REQUIRE(model->network.apply(command, probe).back().kind != kasmina::LifecycleEvent::Kind::kCommandRejected);
    step::follow_structure(*model);
    step::follow_training_gates(*model);
  };
  const auto train = [&] {
    for (std::uint64_t i = 0; i < 3; ++i) {
      step::train_step(model->state, model->settings, make_batches(c, 1, i), step::training_forward(model->network));
    }
  };
  const auto seed = [&]() -> const step::GroupState& { return model->state.groups.back(); };

  apply(leyline::germination("c1", "r0c0", "mlp"));
  const auto born = seed().parameters.flat.clone();
  train();
  CHECK(at::equal(seed().parameters.flat, born));
  CHECK(seed().step.item<float>() == 0);
  CHECK(model->state.groups.front().step.item<float>() == 3);
  apply(leyline::seed_command("c2", leyline::SeedOperation::kStartTraining, "seed-0001"));
  CHECK(seed().step.item<float>() == 0);
  CHECK(seed().first_moments.flat.abs().max().item<float>() == 0);
  CHECK(seed().second_moments.flat.abs().max().item<float>() == 0);
  CHECK(model->state.groups.front().step.item<float>() == 3);
  train();
  CHECK(seed().step.item<float>() == 3);
  CHECK_FALSE(at::equal(seed().parameters.flat, born));
  step::follow_training_gates(*model);  // the gate is open already
  CHECK(seed().step.item<float>() == 3);
  CHECK(seed().first_moments.flat.abs().max().item<float>() > 0);
}

TEST_CASE("memory that is short while a checkpoint is loaded is no fault of the checkpoint") {
  LaneCase c = lane_case("short", config::HostKind::kMlp, leyline::features_shape(6, 5), 4);
  const auto model = make_model(c);
  REQUIRE(model->network.apply(leyline::germination("c1", "r0c0", "mlp"), at::randn({4, 6})).back().kind !=
          kasmina::LifecycleEvent::Kind::kCommandRejected);
  step::follow_structure(*model);
  const auto topology = model->network.save_topology();
  const auto tensors = step::all_tensors(*model, torch::kCPU);
  auto& memory = FailingAllocator::instance();
  int failed = 0;
  for (bool done = false; !done;) {
    const auto fresh = make_model(c);
    memory.fail_at(failed + 1);
    try {
      const auto restored = step::restore_model(*fresh, topology, tensors, torch::kCPU);
      done = !memory.fired();
      INFO(failed << ": " << restored.error_or(""));
      CHECK(done);
      CHECK(restored);
    } catch (const std::exception& error) {
      REQUIRE(memory.fired());  // else it comes each time
      CHECK_FALSE(device::out_of_memory_message(error).empty());
    }
    ++failed;
  }
  CHECK(failed > 10);
}

}  // namespace esper::test::model_test
