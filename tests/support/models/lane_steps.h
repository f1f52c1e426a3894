#pragma once
// A model whose steps run in one lane, with what its runner told.

#include <algorithm>
#include <memory>
#include <string_view>
#include <vector>

#include "lanes/step_runner.h"
#include "support/models/lane_cases.h"

namespace esper::tests {

struct LaneRun {
  LaneRun(const LaneCase& c, config::Lane lane, program::CompileService* compile_service = nullptr,
          std::int64_t check_every = 0)
      : model(make_model(c)) {
    config::StepConfig config;
    config.lane = lane;
    config.check_every = check_every;
    config.compile.dynamic = c.config.step.compile.dynamic;
    runner = std::make_unique<lanes::StepRunner>(
        *model, config, torch::kCPU,
        lanes::RunnerServices{
            compile_service, nullptr, {}, [this](leyline::TelemetryEvent told) { events.push_back(told); }});
  }
  LaneRun(const LaneRun&) = delete;

  void step(std::span<const step::Microbatch> batch, std::int64_t number, std::int64_t left = 1000) {
    runner->step(batch, {number, left});
  }
  void steps(int count, const LaneCase& c, std::uint64_t first_seed, int accumulation = 1) {
    constexpr std::int64_t kManyLeft = 100'000'000;  // so that compiling pays in lane auto
    for (int number = 0; number < count; ++number) {
      step(make_batches(c, accumulation, first_seed + static_cast<std::uint64_t>(number)), number, kManyLeft);
    }
  }

  std::vector<leyline::TelemetryEvent> events_named(std::string_view name) const {
    std::vector<leyline::TelemetryEvent> found;
    std::ranges::copy_if(events, std::back_inserter(found),
                         [&](const auto& event) { return event.description == name; });
    return found;
  }
  const lanes::LaneFigures& figures() const { return runner->figures(); }
  std::int64_t steps_in(config::Lane lane) const { return figures().steps_in(lane); }

  std::unique_ptr<step::Model> model;
  std::vector<leyline::TelemetryEvent> events;
  std::unique_ptr<lanes::StepRunner> runner;
};

// State and buffers.
inline bool same_bits(const step::Model& a, const step::Model& b) {
  const auto equal = [](const auto& left, const auto& right) {
    return std::ranges::equal(left, right, [](const auto& x, const auto& y) { return at::equal(x.tensor, y.tensor); });
  };
  return equal(step::named_tensors(a.state), step::named_tensors(b.state)) &&
         equal(a.network.buffers(), b.network.buffers());
}

}  // namespace esper::tests
