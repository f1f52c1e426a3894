#pragma once
// A growing model whose runner prepares the steps of structures before they come.

#include <exception>
#include <optional>
#include <utility>

#include "device/facts.h"
#include "support/models/growing_model.h"

namespace esper::tests {

struct GrowingPrepared : GrowingModel {
  explicit GrowingPrepared(config::Lane lane, program::CompileService* compile_service = nullptr,
                           const LaneCase& of = growing_case())
      : GrowingModel(of, lane), lane_(lane), compile_service_(compile_service) {
    follow({});
  }

  // A runner that is given these records to follow.
  void follow(lanes::LaneLog log) {
    config::StepConfig config;
    config.lane = lane_;
    config.check_every = 0;
    config.compile.dynamic = c.config.step.compile.dynamic;
    lanes::RunnerServices services;
    services.compile_service = compile_service_;
    services.emit = [this](leyline::TelemetryEvent told) { events.push_back(std::move(told)); };
    services.append_record = [this](std::string record) { records.push_back(std::move(record)); };
    services.log = std::move(log);
    services.scratch_model = [this] {
      ++scratch_models_made;
      if (scratch_model_failure) std::rethrow_exception(scratch_model_failure);
      return make_model(c);
    };
    services.growth = c.config.growth;
    services.memory = [this] { return memory ? *memory : device::memory_figures(torch::kCPU); };
    runner = std::make_unique<lanes::StepRunner>(*model, config, torch::kCPU, std::move(services));
  }

  void prepare(const std::vector<lanes::LikelyChange>& likely) {
    constexpr int kMostPieces = 30;
    for (int i = 0; i < kMostPieces; ++i) runner->structure_changes().prepare(likely, 100'000'000);
  }
  // A step on microbatches of another size.
  void step_of(std::int64_t batch) {
    const auto usual = std::exchange(c.batch, batch);
    steps(1);
    c.batch = usual;
  }
  // The next step's structure.
  tolaria::AppliedCommand change(const leyline::AdaptationCommand& wanted) {
    auto done = apply(wanted);
    runner->structure_changes().take_structure(number);
    return done;
  }
  std::int64_t steps_in(config::Lane lane) const { return runner->figures().steps_in(lane); }
  std::size_t count_events(std::string_view name) const {
    return static_cast<std::size_t>(
        std::ranges::count_if(events, [&](const auto& event) { return event.description == name; }));
  }

  std::vector<std::string> records;
  std::exception_ptr scratch_model_failure;     // in place of a scratch model
  int scratch_models_made = 0;                  // or tried
  std::optional<device::MemoryFigures> memory;  // in place of what the process has

 private:
  config::Lane lane_;
  program::CompileService* compile_service_;
};

inline lanes::LikelyChange germinates(const std::string& slot, const std::string& blueprint) {
  return {leyline::SeedOperation::kGerminate, slot, blueprint, {}};
}

}  // namespace esper::tests
