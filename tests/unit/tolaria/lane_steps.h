#pragma once
// A model whose steps run in one lane, with what its runner told.

#include <algorithm>
#include <memory>
#include <string_view>
#include <vector>

#include "tolaria/step_runner.h"
#include "unit/tolaria/lane_cases.h"

namespace esper::tests {

struct LaneRun {
  LaneRun(const LaneCase& c, leyline::Lane lane, program::CompileDesk* desk = nullptr, std::int64_t check_every = 0)
      : model(make_model(c)) {
    leyline::StepConfig config;
    config.lane = lane;
    config.check_every = check_every;
    config.compile.dynamic = c.config.step.compile.dynamic;
    runner = std::make_unique<tolaria::StepRunner>(
        *model, config, torch::kCPU,
        tolaria::RunnerServices{desk, nullptr, {}, [this](leyline::TelemetryEvent told) { events.push_back(told); }});
  }
  LaneRun(const LaneRun&) = delete;

  void step(std::span<const tolaria::Microbatch> batch, std::int64_t number, std::int64_t left = 1000) {
    runner->step(batch, {number, left});
  }
  void steps(int count, const LaneCase& c, std::uint64_t first_seed, int accumulation = 1) {
    constexpr std::int64_t kManyLeft = 100'000'000;  // so that compiling pays in lane auto
    for (int number = 0; number < count; ++number) {
      step(make_batches(c, accumulation, first_seed + static_cast<std::uint64_t>(number)), number, kManyLeft);
    }
  }

  std::vector<leyline::TelemetryEvent> told(std::string_view name) const {
    std::vector<leyline::TelemetryEvent> found;
    std::ranges::copy_if(events, std::back_inserter(found),
                         [&](const auto& event) { return event.description == name; });
    return found;
  }
  const tolaria::LaneFigures& figures() const { return runner->figures(); }
  std::int64_t steps_in(leyline::Lane lane) const { return figures().steps_in(lane); }

  std::unique_ptr<tolaria::Model> model;
  std::vector<leyline::TelemetryEvent> events;
  std::unique_ptr<tolaria::StepRunner> runner;
};

// State and buffers.
inline bool same_bits(const tolaria::Model& a, const tolaria::Model& b) {
  const auto equal = [](const auto& left, const auto& right) {
    return std::ranges::equal(left, right, [](const auto& x, const auto& y) { return at::equal(x.tensor, y.tensor); });
  };
  return equal(tolaria::named_tensors(a.state), tolaria::named_tensors(b.state)) &&
         equal(a.network.buffers(), b.network.buffers());
}

}  // namespace esper::tests
