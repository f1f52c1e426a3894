// A new lane is one row of the table and its own make function: shown with one that Esper does not have.

#include "lanes/lane/lane_kind.h"

#include <catch2/catch_test_macros.hpp>
#include <vector>

#include "base/error.h"
#include "lanes/prepared_lane.h"
#include "support/models/lane_steps.h"

namespace esper::test::lane_kind_test {

using namespace esper;
using namespace esper::tests;
using config::Lane;

namespace {

constexpr auto kCounted = static_cast<Lane>(lanes::kMostLanes - 1);
std::int64_t counted_steps = 0;
double wrong_by = 0;

// The replay, with its steps counted; and where `wrong_by` is set, with a parameter that is off.
lanes::ExpectedLane make_counted_lane(const lanes::LaneRequest& request) {
  auto replay = lanes::make_replay_lane(request);
  if (!replay) return base::failure(replay.error());
  auto inner = std::make_shared<lanes::Lane>(std::move(*replay));
  return lanes::Lane(kCounted, [inner, &model = request.model](std::span<const step::Microbatch> microbatches) {
    ++counted_steps;
    inner->run(microbatches);
    const torch::NoGradGuard no_grad;
    if (wrong_by != 0) step::named_tensors(model.state).front().tensor.add_(wrong_by);
  });
}

bool everywhere(torch::Device) { return true; }

std::vector<lanes::LaneKind> with_counted_lane() {
  const auto rows = lanes::lane_kinds();
  std::vector<lanes::LaneKind> kinds(rows.begin(), rows.end());
  kinds.push_back({kCounted, "counted", true, false, everywhere, "", make_counted_lane});
  return kinds;
}

struct CountedRun {
  explicit CountedRun(Lane lane) : model(make_model(lane_cases().front())) {
    counted_steps = 0;
    config::StepConfig config;
    config.lane = lane;
    config.check_every = 0;
    lanes::RunnerServices services;
    services.emit = [this](leyline::TelemetryEvent event) { events.push_back(std::move(event)); };
    services.kinds = kinds;
    runner = std::make_unique<lanes::StepRunner>(*model, config, torch::kCPU, std::move(services));
  }
  void steps(std::int64_t count) {
    for (std::int64_t number = 0; number < count; ++number) {
      runner->step(make_batches(lane_cases().front(), 1, static_cast<std::uint64_t>(number)), {number, 1000});
    }
  }
  std::size_t count_of(std::string_view name, const std::string& lane) const {
    return static_cast<std::size_t>(std::ranges::count_if(events, [&](const leyline::TelemetryEvent& event) {
      return event.description == name && event.attributes.at("lane") == lane;
    }));
  }

  std::vector<lanes::LaneKind> kinds = with_counted_lane();
  std::unique_ptr<step::Model> model;
  std::vector<leyline::TelemetryEvent> events;
  std::unique_ptr<lanes::StepRunner> runner;
};

}  // namespace

TEST_CASE("a lane of one new row is compared, adopted and run like the others, with eager's bits") {
  at::set_num_threads(1);
  wrong_by = 0;
  CountedRun counted(kCounted);
  LaneRun eager(lane_cases().front(), Lane::kEager);
  counted.steps(10);
  for (std::int64_t number = 0; number < 10; ++number) {
    eager.step(make_batches(lane_cases().front(), 1, static_cast<std::uint64_t>(number)), number);
  }
  CHECK(same_bits(*eager.model, *counted.model));
  CHECK(counted.runner->figures().steps_in(kCounted) == 7);  // all but warm-up, recording and comparing
  CHECK(counted_steps == 8);                                 // these, and the compared one
  CHECK(counted.count_of("tolaria.lane_adopted", "counted") == 1);
  CHECK(counted.runner->settled());
}

TEST_CASE("auto tries a lane of one new row before those that are expected to be slower") {
  at::set_num_threads(1);
  wrong_by = 0;
  CountedRun counted(Lane::kAuto);
  counted.steps(200);
  CHECK(counted_steps > 60);
  CHECK(counted.count_of("tolaria.lane_adopted", "counted") + counted.count_of("tolaria.lane_refused", "counted") == 1);
}

TEST_CASE("a wrong lane of one new row is rejected, and the training has eager's bits") {
  at::set_num_threads(1);
  wrong_by = 0.5;
  CountedRun counted(kCounted);
  LaneRun eager(lane_cases().front(), Lane::kEager);
  counted.steps(10);
  wrong_by = 0;
  for (std::int64_t number = 0; number < 10; ++number) {
    eager.step(make_batches(lane_cases().front(), 1, static_cast<std::uint64_t>(number)), number);
  }
  CHECK(same_bits(*eager.model, *counted.model));
  CHECK(counted_steps == 1);
  CHECK(counted.count_of("tolaria.lane_refused", "counted") == 1);
  CHECK(counted.runner->figures().checks_failed == 1);
}

TEST_CASE("a package that does not load for a lack of memory, or on a card that failed, is not called damaged") {
  const LaneCase c = lane_cases().front();
  const auto model = make_model(c);
  lanes::GraphCapture capture("step", 0, [](const leyline::TelemetryEvent&) {});
  const auto failure_of = [&](lanes::ExpectedLane (*make)(const lanes::LaneRequest&)) {
    const lanes::LaneKind kind{kCounted, "counted", true, true, everywhere, "", make};
    return lanes::make_lane(kind, {}, *model, make_batches(c, 1), {torch::kCPU, capture}).error();
  };
  const auto damaged = failure_of([](const auto&) -> lanes::ExpectedLane {
    throw base::Error(base::ExitCode::kResources, "cannot load the compiled program: it is truncated");
  });
  CHECK(damaged.cause == lanes::LaneFailure::Cause::kPackage);
  CHECK_FALSE(damaged.of_memory);
  const auto too_large = failure_of([](const auto&) -> lanes::ExpectedLane {
    throw base::Error(base::ExitCode::kResources, "cannot load the compiled program: not enough memory");
  });
  CHECK(too_large.cause == lanes::LaneFailure::Cause::kResources);
  CHECK(too_large.of_memory);
  const auto after_a_failure = failure_of([](const auto&) -> lanes::ExpectedLane {
    throw base::Error(base::ExitCode::kResources,
                      "cannot load the compiled program: CUDA error: unspecified launch failure");
  });
  CHECK(after_a_failure.cause == lanes::LaneFailure::Cause::kResources);
  CHECK_FALSE(after_a_failure.of_memory);
}

}  // namespace esper::test::lane_kind_test
