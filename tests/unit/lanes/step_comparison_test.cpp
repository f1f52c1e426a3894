// When a lane is compared with eager, and what becomes of a comparison that cannot be made.

#include "lanes/shape/step_comparison.h"

#include <catch2/catch_test_macros.hpp>
#include <iterator>
#include <map>
#include <string>

#include "device/precision.h"
#include "lanes/prepared_lane.h"
#include "support/call_counter.h"
#include "support/faults/failing_allocator.h"
#include "support/models/lane_steps.h"
#include "support/models/reduced_fp32.h"

namespace esper::test::step_comparison_test {

using namespace esper;
using namespace esper::tests;
using config::Lane;
using test::CallCounter;

namespace {

constexpr std::int64_t kCheck = 2;  // after the warm-up and the recording

lanes::CheckResult compare(step::Model& model, lanes::Lane& lane, int& near_misses,
                           std::span<const step::Microbatch> batch, const std::function<void()>& eager) {
  const config::StepConfig config;
  const lanes::LaneServices services;
  lanes::LaneFigures figures;
  lanes::GraphCapture capture("step", 0, services.emit);
  const lanes::LaneContext context{model,    config,  torch::kCPU, step::training_forward(model.network),
                                   services, figures, capture};
  return lanes::compare_with_eager(context, lane, near_misses, batch, eager);
}

}  // namespace

TEST_CASE(
    "wherever memory runs out in a comparison, the lane is refused with the reason and training has eager's bits") {
  const LaneCase c = lane_cases().front();
  int refused = 0;
  auto& memory = test::FailingAllocator::instance();
  for (int n = 1;; ++n) {
    CAPTURE(n);
    LaneRun eager(c, Lane::kEager), replay(c, Lane::kReplay);
    bool failed = false;
    for (std::int64_t step = 0; step < 6; ++step) {
      const auto batch = make_batches(c, 1, static_cast<std::uint64_t>(step));
      eager.step(batch, step);
      if (step == kCheck) memory.fail_at(n);
      replay.step(batch, step);
      if (step == kCheck) failed = memory.fired();
    }
    CHECK(same_bits(*eager.model, *replay.model));
    if (!failed) break;
    ++refused;
    const auto events = replay.events_named("tolaria.lane_refused");
    REQUIRE(events.size() == 1);
    CHECK(events.front().level == leyline::Level::kWarning);
    CHECK(events.front().attributes.at("reason").find("memory") != std::string::npos);
    CHECK(replay.steps_in(Lane::kReplay) == 0);
    CHECK(replay.figures().checks_failed == 0);
  }
  CHECK(refused > 15);  // the copy before, the lane's step, eager's step
}

TEST_CASE("wherever memory runs out in a comparison by values, the lane is refused, and the model has eager's step") {
  const LaneCase c = lane_cases().front();
  const auto batch = make_batches(c, 1);
  auto& memory = test::FailingAllocator::instance();
  int refused = 0;
  for (int n = 1;; ++n) {
    CAPTURE(n);
    auto expected = make_model(c), model = make_model(c);
    const auto step_of = [&](step::Model& of) {
      step::train_step(of.state, of.settings, batch, step::training_forward(of.network));
    };
    step_of(*expected);
    lanes::Lane compiled(Lane::kCompiled, [&](auto) { step_of(*model); }, {nullptr, "key", 1});
    int near_misses = 0;
    memory.fail_at(n);
    const auto result = compare(*model, compiled, near_misses, batch, [&] { step_of(*model); });
    const bool failed = memory.fired();
    if (result.eager_is_due) step_of(*model);
    CHECK(same_bits(*expected, *model));
    if (!failed) break;
    ++refused;
    CHECK(result.verdict == lanes::CheckResult::Verdict::kRejected);
    CHECK(result.rejection.cause == lanes::Rejection::Cause::kNoMemory);
  }
  CHECK(refused > 50);  // copies before and after, the lane's step, eager's step, the comparison
}

TEST_CASE("a step whose gradients are not finite is not a comparison; the next step is compared instead") {
  LaneCase c = lane_cases().front();
  c.compute = torch::kFloat16;
  LaneRun run(c, Lane::kReplay);
  const auto step = [&](std::int64_t number, double inputs_times) {
    const auto batch = make_batches(c, 1, static_cast<std::uint64_t>(number));
    for (const auto& microbatch : batch) torch::Tensor(microbatch.inputs).mul_(inputs_times);
    run.step(batch, number);
  };
  constexpr double kTooLarge = 1e4;
  for (std::int64_t number = 0; number < kCheck; ++number) step(number, 1);
  for (std::int64_t number = kCheck; number < kCheck + 3; ++number) {
    step(number, kTooLarge);
    CHECK(run.events_named("tolaria.lane_adopted").empty());
  }
  step(kCheck + 3, 1);
  const auto adopted = run.events_named("tolaria.lane_adopted");
  REQUIRE(adopted.size() == 1);
  CHECK(adopted.front().attributes.at("step") == std::to_string(kCheck + 3));
  CHECK_FALSE(adopted.front().attributes.contains("speedup"));  // it was selected, not measured
  CHECK(run.events_named("tolaria.lane_refused").empty());
}

TEST_CASE("a lane that promises eager's bits and has others is rejected, however close it is") {
  const LaneCase c = lane_cases().front();
  LaneRun run(c, Lane::kEager);
  const step::Model& model = *run.model;
  const auto batch = make_batches(c, 1);
  const torch::NoGradGuard no_grad;
  const auto difference_of = [&](const lanes::Lane& lane, float factor) {
    lanes::StepComparison comparison;
    comparison.take_before(model, torch::kCPU);
    lane.run(batch);
    model.state.parameters.front().view({-1})[0].mul_(factor);
    comparison.take_after(lane);
    comparison.restore();
    run.step(batch, 0);
    CHECK_FALSE((comparison.is_off_by_little(model) && lane.key().empty()));
    return comparison.difference(model);
  };
  const auto eager = [&](std::span<const step::Microbatch> microbatches) { run.step(microbatches, 0); };
  const lanes::Lane exact(Lane::kReplay, eager), compiled(Lane::kCompiled, eager, {nullptr, "key", 1});
  constexpr float kRounding = 1.0000002F;
  CHECK_FALSE(difference_of(exact, 1));
  CHECK_FALSE(difference_of(compiled, 1));
  CHECK_FALSE(difference_of(compiled, kRounding));
  const auto first = step::named_tensors(model.state).front().id;
  const auto rounded = difference_of(exact, kRounding);
  REQUIRE(rounded);
  CHECK((rounded->tensor == first && rounded->tolerance == 0));
  const auto wrong = difference_of(compiled, 2);
  REQUIRE(wrong);
  CHECK((wrong->tensor == first && wrong->difference > wrong->tolerance));
}

TEST_CASE("tensors that change by parts of one gradient are compared with each other's change") {
  LaneCase c = lane_cases()[1];
  c.config.training.ema_decay = 0.9;
  const auto model = make_model(c);
  const step::GroupState& host = model->state.groups.front();
  std::map<std::string, std::int64_t> by_kind;
  for (const program::Tracked& item : lanes::tracked_tensors(*model)) {
    ++by_kind[item.kind];
    const bool is_divided = !item.name.starts_with("optimizer.") && !item.kind.empty();
    REQUIRE(item.squares.defined() == is_divided);
    if (item.name == host.parameter_ids[1] || item.name == "ema." + host.parameter_ids[1]) {
      CHECK(item.squares.is_same(host.second_moments.views[1]));
    }
  }
  by_kind.erase("");           // sums, scalars
  CHECK(by_kind.size() == 4);  // parameters, averages, two moments
  for (const auto& [kind, count] : by_kind) CHECK(count == std::ssize(host.parameter_ids));
}

TEST_CASE("a key's bias, whose gradient is all rounding, refuses no program under AdamW; a value's does") {
  at::set_num_threads(1);
  LaneCase c = lane_cases().back();
  REQUIRE((c.name == "transformer_bf16" && c.config.training.optimizer.kind == config::OptimizerKind::kAdamw));
  c.config.training.optimizer.eps = 1e-16;  // in the first step already, rounding is a step of full size
  const auto batch = make_batches(c, 1);
  const std::int64_t width = c.config.host.embedding;
  // Eager's step, with the opposite update of a third of the biases: the queries', the keys' or the values'.
  const auto compare_with_opposite = [&](std::int64_t third) {
    const auto model = make_model(c);
    const auto eager = [&] {
      step::train_step(model->state, model->settings, batch, step::training_forward(model->network));
    };
    torch::Tensor bias;
    for (const auto& [id, tensor] : step::named_tensors(model->state)) {
      if (id == "host.layer0.attention.qkv.bias") bias = tensor.detach().narrow(0, third * width, width);
    }
    REQUIRE(bias.defined());
    lanes::Lane lane(Lane::kCompiled,
                     [&](auto) {
                       const torch::Tensor before = bias.clone();
                       eager();
                       bias.copy_(before.mul(2).sub(bias));
                     },
                     {nullptr, "key", 1});
    int near_misses = 0;
    return compare(*model, lane, near_misses, batch, eager);
  };
  CHECK(compare_with_opposite(1).verdict == lanes::CheckResult::Verdict::kSame);
  const auto of_values = compare_with_opposite(2);
  CHECK(of_values.verdict == lanes::CheckResult::Verdict::kRejected);
  REQUIRE(of_values.rejection.where);
  CHECK(of_values.rejection.where->tensor == "host.layer0.attention.qkv.bias");
}

namespace {

using Verdict = lanes::CheckResult::Verdict;

// Comparisons of eager's step with one whose change is larger by `off` of it: always, or where products are short.
struct OffLane {
  enum class When { kAlways, kInReducedFp32, kInTheGraph };
  OffLane(double off, When when, torch::ScalarType compute = torch::kFloat32)
      : off_(off),
        when_(when),
        case_(with(compute)),
        lane_(
            Lane::kCompiled, [this](auto) { step(when_ != When::kInReducedFp32 || is_reduced()); }, {nullptr, "key", 1},
            when == When::kInTheGraph ? [this](auto) { step(false); } : lanes::Lane::Step()) {}
  OffLane(const OffLane&) = delete;

  lanes::CheckResult result() {
    return step_comparison_test::compare(*model_, lane_, near_misses_, batch_, [&] { eager(); });
  }
  Verdict compare() { return result().verdict; }

 private:
  static LaneCase with(torch::ScalarType compute) {
    LaneCase c = lane_cases().front();
    c.compute = compute;
    return c;
  }
  static bool is_reduced() { return device::uses_reduced_fp32(torch::kCPU); }
  void eager() { step::train_step(model_->state, model_->settings, batch_, step::training_forward(model_->network)); }
  void step(bool is_off) {
    const torch::Tensor parameter = model_->state.parameters.front().detach(), before = parameter.clone();
    eager();
    if (is_off) torch::Tensor(parameter).add_(parameter.sub(before), off_);
  }

  double off_;
  When when_;
  const LaneCase case_;
  std::unique_ptr<step::Model> model_ = make_model(case_);
  std::vector<step::Microbatch> batch_ = make_batches(case_, 1);
  lanes::Lane lane_;
  int near_misses_ = 0;
};

// As often as a comparison is repeated.
void check_rejected_in_the_end(OffLane& lane) {
  for (int n = 1; n < lanes::kMostNearMisses; ++n) CHECK(lane.compare() == Verdict::kUndecided);
  CHECK(lane.compare() == Verdict::kRejected);
}

}  // namespace

TEST_CASE("where float32 is reduced a step that differs a little is compared in full fp32, which decides") {
  constexpr double kOff = 0.05;
  using When = OffLane::When;
  SECTION("it is not reduced: it differs too much") {
    CHECK(OffLane(kOff, When::kAlways).compare() == Verdict::kRejected);
  }
  SECTION("it differs only there") {
    const test::ReducedFp32 reduced;
    OffLane lane(kOff, When::kInReducedFp32);
    CHECK(lane.compare() == Verdict::kUndecided);
    CHECK(lane.compare() == Verdict::kSame);
    CHECK(device::uses_reduced_fp32(torch::kCPU));
  }
  SECTION("it differs in full fp32 too") {
    const test::ReducedFp32 reduced;
    OffLane lane(kOff, When::kAlways);
    check_rejected_in_the_end(lane);
  }
  SECTION("only the graph differs, not what was captured") {
    const test::ReducedFp32 reduced;
    OffLane lane(kOff, When::kInTheGraph);
    check_rejected_in_the_end(lane);
  }
  SECTION("it differs by much, whatever it does in full fp32") {
    const test::ReducedFp32 reduced;
    CHECK(OffLane(0.5, When::kInReducedFp32).compare() == Verdict::kRejected);
  }
  SECTION("the step computes in bf16, to which the setting says nothing") {
    const test::ReducedFp32 reduced;
    CHECK(OffLane(0.1, When::kInReducedFp32, torch::kBFloat16).compare() == Verdict::kRejected);
  }
}

TEST_CASE("without memory for the comparison in full fp32 the ordinary one goes on") {
  const test::ReducedFp32 reduced;
  auto& memory = test::FailingAllocator::instance();
  for (int n = 1; n < 10; ++n) {
    CAPTURE(n);
    OffLane lane(0.05, OffLane::When::kInReducedFp32);
    CHECK(lane.compare() == Verdict::kUndecided);
    memory.fail_at(n);
    CHECK(lane.compare() == Verdict::kUndecided);
    CHECK(memory.fired());
    CHECK(lane.compare() == Verdict::kSame);
  }
}

TEST_CASE(
    "wherever memory runs out in the comparison of a step that differs a little, the program is not called wrong") {
  auto& memory = test::FailingAllocator::instance();
  int refused = 0;
  for (int n = 1;; ++n) {
    CAPTURE(n);
    OffLane lane(0.02, OffLane::When::kAlways);
    memory.fail_at(n);
    const auto result = lane.result();
    if (!memory.fired()) {
      CHECK(result.verdict == Verdict::kUndecided);
      break;
    }
    ++refused;
    CHECK(result.verdict == Verdict::kRejected);
    CHECK(result.rejection.cause == lanes::Rejection::Cause::kNoMemory);
  }
  CHECK(refused > 50);
}

TEST_CASE("a rare shape is compared too, at its first step in every interval of check_every") {
  const LaneCase c = lane_cases().front();
  LaneRun run(c, Lane::kReplay, nullptr, 20);
  std::vector<std::int64_t> compared;
  for (std::int64_t number = 7; number < 120; number += 8) {
    const auto before = run.figures().checks;
    run.step(make_batches(c, 1, static_cast<std::uint64_t>(number)), number);
    if (run.figures().checks > before) compared.push_back(number);
  }
  CHECK(compared == std::vector<std::int64_t>{23, 47, 63, 87, 103});
}

TEST_CASE("a prepared lane goes by the configuration that it is given") {
  const LaneCase c = lane_cases().front();
  const auto batch = make_batches(c, 1);
  const auto calls = [&](int warmup_steps) {
    config::StepConfig config;
    config.compile.warmup_steps = warmup_steps;
    auto model = make_model(c);
    const CallCounter counter;
    lanes::prepare_lane(*model, Lane::kReplay, batch, nullptr, config);
    return CallCounter::calls();
  };
  calls(1);  // the process's first
  CHECK(calls(5) > calls(1));
  CHECK(calls(9) - calls(5) == calls(5) - calls(1));

  const auto reads = [&](std::int64_t check_every) {
    config::StepConfig config;
    config.check_every = check_every;
    auto model = make_model(c);
    const auto lane = lanes::prepare_lane(*model, Lane::kAuto, batch, nullptr, config);
    const CallCounter counter;
    for (int step = 0; step < 100; ++step) lane.step(batch);
    return CallCounter::host_reads();
  };
  CHECK(reads(0) == 0);
  CHECK(reads(10) > 0);
}

}  // namespace esper::test::step_comparison_test
