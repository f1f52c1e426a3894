// When a lane is compared with eager, and what becomes of a comparison that cannot be made.

#include <c10/core/CPUAllocator.h>

#include <catch2/catch_test_macros.hpp>
#include <type_traits>

#include "tolaria/fast_lane.h"
#include "tolaria/lane.h"
#include "tolaria/step_runner.h"
#include "unit/tolaria/call_counter.h"
#include "unit/tolaria/lane_cases.h"

using namespace esper;
using namespace esper::tests;
using leyline::Lane;
using tolaria::test::CallCounter;

namespace {

static_assert(!std::is_move_assignable_v<tolaria::FastLane>, "its graph would outlive what it was captured from");

// While it lives, one request for memory fails as on a machine that is full.
class FullOnce final : public c10::Allocator {
 public:
  explicit FullOnce(int after) : left_(after), real_(c10::GetCPUAllocator()) { c10::SetCPUAllocator(this, kPriority); }
  ~FullOnce() override { c10::SetCPUAllocator(real_, kPriority); }
  FullOnce(const FullOnce&) = delete;

  c10::DataPtr allocate(std::size_t bytes) override {
    if (left_-- == 0) {
      TORCH_CHECK(false, "DefaultCPUAllocator: can't allocate memory: you tried to allocate ", bytes, " bytes.");
    }
    return real_->allocate(bytes);
  }
  c10::DeleterFnPtr raw_deleter() const override { return real_->raw_deleter(); }
  void copy_data(void* to, const void* from, std::size_t bytes) const override { default_copy_data(to, from, bytes); }
  bool failed() const { return left_ < 0; }

 private:
  static constexpr std::uint8_t kPriority = 200;
  int left_;
  c10::Allocator* real_;
};

struct Runs {
  Runs(const LaneCase& c, Lane lane, std::int64_t check_every = 0) : case_(c), model(make_model(c)) {
    leyline::StepConfig config;
    config.lane = lane;
    config.check_every = check_every;
    runner = std::make_unique<tolaria::StepRunner>(
        *model, config, torch::kCPU,
        tolaria::RunnerServices{
            nullptr, nullptr, {}, [this](leyline::TelemetryEvent told) { events.push_back(told); }});
  }

  void step(std::int64_t number, double inputs_times = 1) {
    auto batch = make_batches(case_, 1, static_cast<std::uint64_t>(number));
    for (auto& [inputs, targets] : batch) inputs.mul_(inputs_times);
    runner->step(batch, {number, 1000});
  }

  const leyline::TelemetryEvent* told(std::string_view name) const {
    const auto found = std::ranges::find_if(events, [&](const auto& event) { return event.description == name; });
    return found == events.end() ? nullptr : &*found;
  }

  LaneCase case_;
  std::unique_ptr<tolaria::Model> model;
  std::vector<leyline::TelemetryEvent> events;
  std::unique_ptr<tolaria::StepRunner> runner;
};

bool same_state(const tolaria::Model& a, const tolaria::Model& b) {
  const auto left = tolaria::named_tensors(a.state), right = tolaria::named_tensors(b.state);
  for (std::size_t i = 0; i < left.size(); ++i) {
    if (!at::equal(left[i].tensor, right[i].tensor)) return false;
  }
  return true;
}

constexpr std::int64_t kCheck = 2;  // after the warm-up and the recording

}  // namespace

TEST_CASE(
    "wherever memory runs out in a comparison, the lane is refused with the reason and training has eager's bits") {
  const LaneCase c = lane_cases().front();
  int refused = 0;
  for (int after = 0;; ++after) {
    CAPTURE(after);
    Runs eager(c, Lane::kEager), replay(c, Lane::kReplay);
    bool failed = false;
    for (std::int64_t step = 0; step < 6; ++step) {
      eager.step(step);
      const auto batch = make_batches(c, 1, static_cast<std::uint64_t>(step));
      if (step != kCheck) {
        replay.step(step);
        continue;
      }
      const FullOnce full(after);
      replay.runner->step(batch, {step, 1000});
      failed = full.failed();
    }
    CHECK(same_state(*eager.model, *replay.model));
    if (!failed) break;
    ++refused;
    const auto* told = replay.told("tolaria.lane_refused");
    REQUIRE(told != nullptr);
    CHECK(told->level == leyline::Level::kWarning);
    CHECK(told->attributes.at("reason").find("memory") != std::string::npos);
    CHECK(replay.runner->figures().steps_in(Lane::kReplay) == 0);
    CHECK(replay.runner->figures().checks_failed == 0);
  }
  CHECK(refused > 50);  // copies before, the lane's step, copies after, eager's step, the comparison
}

TEST_CASE("a step whose gradients are not finite is no comparison, and the next one has its turn") {
  LaneCase c = lane_cases().front();
  c.compute = torch::kFloat16;
  Runs run(c, Lane::kReplay);
  constexpr double kTooLarge = 1e4;
  for (std::int64_t step = 0; step < kCheck; ++step) run.step(step);
  for (std::int64_t step = kCheck; step < kCheck + 3; ++step) {
    run.step(step, kTooLarge);
    CHECK(run.told("tolaria.lane_adopted") == nullptr);
  }
  run.step(kCheck + 3);
  const auto* adopted = run.told("tolaria.lane_adopted");
  REQUIRE(adopted != nullptr);
  CHECK(adopted->attributes.at("step") == std::to_string(kCheck + 3));
  CHECK_FALSE(adopted->attributes.contains("speedup"));  // it was asked for, not measured
  CHECK(run.told("tolaria.lane_refused") == nullptr);
}

TEST_CASE("a shape that comes rarely is compared too, at its first step in every stretch of check_every") {
  Runs run(lane_cases().front(), Lane::kReplay, 20);
  std::vector<std::int64_t> compared;
  for (std::int64_t number = 7; number < 120; number += 8) {
    const auto before = run.runner->figures().checks;
    run.step(number);
    if (run.runner->figures().checks > before) compared.push_back(number);
  }
  CHECK(compared == std::vector<std::int64_t>{23, 47, 63, 87, 103});
}

TEST_CASE("a prepared lane goes by the configuration that it is given") {
  const LaneCase c = lane_cases().front();
  const auto batch = make_batches(c, 1);
  const auto calls = [&](int warmup_steps) {
    leyline::StepConfig config;
    config.compile.warmup_steps = warmup_steps;
    auto model = make_model(c);
    const CallCounter counter;
    tolaria::prepare_lane(*model, Lane::kReplay, batch, torch::kCPU, nullptr, config);
    return CallCounter::calls();
  };
  calls(1);  // the process's first
  CHECK(calls(5) > calls(1));
  CHECK(calls(9) - calls(5) == calls(5) - calls(1));

  const auto reads = [&](std::int64_t check_every) {
    leyline::StepConfig config;
    config.check_every = check_every;
    auto model = make_model(c);
    const auto lane = tolaria::prepare_lane(*model, Lane::kAuto, batch, torch::kCPU, nullptr, config);
    const CallCounter counter;
    for (int step = 0; step < 100; ++step) lane.step(batch);
    return CallCounter::host_reads();
  };
  CHECK(reads(0) == 0);
  CHECK(reads(10) > 0);
}
