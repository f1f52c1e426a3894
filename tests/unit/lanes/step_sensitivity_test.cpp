// A right program is not called wrong where a network has converged until its gradients are all rounding.
#include "lanes/shape/step_sensitivity.h"

#include <catch2/catch_test_macros.hpp>
#include <exception>

#include "device/rng.h"
#include "lanes/lane/step_external_tensors.h"
#include "lanes/prepared_lane.h"
#include "lanes/shape/step_comparison.h"
#include "support/faults/failing_allocator.h"
#include "support/models/lane_cases.h"
#include "support/models/lane_steps.h"

namespace esper::test::step_sensitivity_test {

using namespace esper;
using namespace esper::tests;
using Cause = lanes::Rejection::Cause;
using Verdict = lanes::CheckResult::Verdict;

namespace {

// Trained on one batch.
struct Trained {
  Trained(const LaneCase& of, int steps) : c(of), model(make_model(of)), batch(make_batches(of, 1)) {
    for (int n = 0; n < steps; ++n) eager(batch);
  }

  void eager(std::span<const step::Microbatch> microbatches) const {
    step::train_step(model->state, model->settings, microbatches, step::training_forward(model->network));
  }
  // As a program whose step that is.
  lanes::CheckResult compare(const std::function<void()>& step) {
    lanes::Lane lane(config::Lane::kCompiled, [&](auto) { step(); }, {nullptr, "key", 1});
    return lanes::compare_with_eager(context(), lane, near_misses, batch, [&] { eager(batch); });
  }
  lanes::LaneContext context() {
    return {*model, config, torch::kCPU, step::training_forward(model->network), services, figures, capture};
  }
  // The same until it is decided, which a few comparisons do.
  lanes::CheckResult judge(const std::function<void()>& step) {
    lanes::CheckResult result = compare(step);
    for (int n = 0; n < 100 && result.verdict == Verdict::kUndecided; ++n) result = compare(step);
    return result;
  }

  // Eager's step with the classes in the opposite order: the same but for the order of sums over classes.
  void step_of_opposite_classes() const {
    flip_classes();
    std::vector<step::Microbatch> opposite = batch;
    for (auto& part : opposite) part.targets = part.targets.neg().add(c.sample.num_classes - 1);
    eager(opposite);
    flip_classes();
  }
  // Eager's step from parameters that are off by one part in 1e5.
  void step_from_near() const {
    const torch::NoGradGuard no_grad;
    std::vector<torch::Tensor> off;
    for (const torch::Tensor& parameter : model->state.parameters) {
      off.push_back(parameter.detach().mul(1e-5));
      parameter.detach().add_(off.back());
    }
    eager(batch);
    for (std::size_t i = 0; i < off.size(); ++i) model->state.parameters[i].detach().sub_(off[i]);
  }
  // Eager's step with a learning rate that is off by that factor.
  void step_at_rate(double factor) const {
    const auto& parameters = model->state.parameters;
    std::vector<torch::Tensor> before;
    for (const torch::Tensor& parameter : parameters) before.push_back(parameter.detach().clone());
    eager(batch);
    for (std::size_t i = 0; i < before.size(); ++i) {
      torch::Tensor value = parameters[i].detach();
      value.add_(value.sub(before[i]), factor - 1);
    }
  }

  LaneCase c;
  std::unique_ptr<step::Model> model;
  std::vector<step::Microbatch> batch;
  int near_misses = 0;

 private:
  const config::StepConfig config;
  const lanes::LaneServices services;
  lanes::LaneFigures figures;
  lanes::GraphCapture capture{"step", 0, services.emit};

  void flip_classes() const {
    for (const program::Tracked& item : lanes::tracked_tensors(*model)) {
      if (item.name.find("head.") == std::string::npos) continue;
      torch::Tensor value = item.tensor.detach();
      value.copy_(value.flip(0));
    }
  }
};

LaneCase decaying() {
  LaneCase c = lane_cases().front();
  c.config.training.optimizer.lr = 0.1;
  c.config.training.optimizer.weight_decay = 0.1;
  return c;
}

LaneCase lane_case_with_dropout() {
  LaneCase c = lane_cases()[5];
  REQUIRE(c.config.host.dropout > 0);
  c.config.training.ema_decay = 0.9;
  return c;
}

}  // namespace

TEST_CASE("moments that are at rest are compared by what a step adds to them, not by their change") {
  Trained network(lane_cases().front(), 3000);
  for (int n = 0; n < 10; ++n)
    CHECK(network.compare([&] { network.step_of_opposite_classes(); }).verdict == Verdict::kSame);
  const auto wrong = network.judge([&] { network.step_at_rate(1.02); });
  CHECK(wrong.verdict == Verdict::kRejected);
}

TEST_CASE("where a small change of the parameters changes a step as much, the program is refused, not called wrong") {
  SECTION("gradients and decay cancel") {
    Trained network(decaying(), 3000);
    const auto result = network.judge([&] { network.step_from_near(); });
    REQUIRE(result.verdict == Verdict::kRejected);
    CHECK(result.rejection.cause == Cause::kSensitive);
    REQUIRE(result.rejection.where);
  }
  SECTION("they do not yet") {
    Trained network(decaying(), 10);
    CHECK(network.judge([&] { network.step_from_near(); }).verdict == Verdict::kSame);
    const auto wrong = network.judge([&] { network.step_at_rate(1.02); });
    REQUIRE(wrong.verdict == Verdict::kRejected);
    CHECK(wrong.rejection.cause == Cause::kErred);
  }
}

TEST_CASE("the change of the parameters is no change of their averages: a program that errs in these is called wrong") {
  LaneCase c = lane_cases().front();
  c.config.training.ema_decay = 0.9;
  c.config.training.optimizer.lr = 1e-4;  // an average is then off its parameter by about as much as that is changed
  Trained network(c, 10);
  const torch::Tensor average = network.model->state.groups.front().averages.flat;
  const auto wrong = network.judge([&] {
    const torch::Tensor before = average.clone();
    network.eager(network.batch);
    average.add_(average.sub(before), 0.1);
  });
  REQUIRE(wrong.verdict == Verdict::kRejected);
  CHECK(wrong.rejection.cause == Cause::kErred);
  REQUIRE(wrong.rejection.where);
  CHECK(wrong.rejection.where->tensor.starts_with("ema."));
}

TEST_CASE("the sensitivity of a step is measured without a trace in the model and in the random numbers") {
  at::set_num_threads(1);
  for (const LaneCase& c : {decaying(), lane_case_with_dropout()}) {
    CAPTURE(c.name);
    Trained network(c, 5);
    REQUIRE(network.compare([&] { network.step_at_rate(1.5); }).verdict == Verdict::kRejected);
    const auto drawn = device::cpu_generator_fingerprint();
    Trained other(c, 5);
    other.eager(other.batch);
    CHECK(device::cpu_generator_fingerprint() == drawn);
    CHECK(same_bits(*network.model, *other.model));
  }
}

TEST_CASE("wherever memory runs out while the sensitivity of a step is measured, the model stays as it is") {
  LaneCase c = decaying();
  c.config.training.ema_decay = 0.9;
  Trained network(c, 5), other(c, 5);
  other.eager(other.batch);
  const lanes::StepSnapshot before(*network.model, torch::kCPU);
  network.eager(network.batch);
  const auto drawn = device::cpu_generator_fingerprint();
  const auto item = lanes::tracked_tensors(*network.model).front();
  auto& memory = FailingAllocator::instance();
  int failures = 0;
  for (int n = 1;; ++n) {
    CAPTURE(n);
    bool failed = false;
    memory.fail_at(n);
    try {
      lanes::step_sensitivity(network.context(), before, item, 1e-4, network.batch);
    } catch (const std::exception&) {
      failed = true;
    }
    REQUIRE(memory.fired() == failed);  // an error of another cause comes each time
    CHECK(same_bits(*network.model, *other.model));
    CHECK(device::cpu_generator_fingerprint() == drawn);
    if (!failed) break;
    ++failures;
  }
  CHECK(failures > 20);  // the copy, the step
}

}  // namespace esper::test::step_sensitivity_test
