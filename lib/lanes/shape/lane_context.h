#pragma once
// What everything that makes, checks and runs lanes needs. Borrowed: everything must outlive its users. Training
// thread.

#include <functional>
#include <span>

#include "base/clock.h"
#include "base/ledger/ledger.h"
#include "config/step_config.h"
#include "lanes/lane/lane_figures.h"
#include "lanes/lane/lane_kind.h"
#include "leyline/telemetry/telemetry_packet.h"
#include "program/compile_service.h"
#include "step/model.h"
#include "step/train_step.h"

namespace esper::lanes {

struct LaneServices {
  program::CompileService* compile_service = nullptr;  // null: no compiler
  base::Ledger* ledger = nullptr;                      // null: time is not accounted
  base::Clock clock{};
  std::function<void(leyline::TelemetryEvent)> emit;
  std::function<void()> send{};                    // sends the emitted events now; null: they go with the next packet
  std::span<const LaneKind> kinds = lane_kinds();  // available lanes
};

struct LaneContext {
  step::Model& model;  // the run's, or a scratch model
  const config::StepConfig& config;
  torch::Device device;
  step::TrainingForward forward;  // of the model's network
  const LaneServices& services;
  LaneFigures& figures;
  GraphCapture& capture;
  CompiledPrograms compiled = CompiledPrograms::kCaptured;

  bool can_compile() const {
    return services.compile_service != nullptr && services.compile_service->problem().empty();
  }
  LaneSetup setup() const { return {device, capture, compiled}; }
  const LaneKind* kind(config::Lane id) const { return find_kind(services.kinds, id); }
  void emit(leyline::TelemetryEvent event) const { services.emit(std::move(event)); }
};

// Accounts the training thread's time to preparing lanes while it lives.
class PreparationTime {
 public:
  explicit PreparationTime(const LaneContext& context);
  ~PreparationTime();
  PreparationTime(const PreparationTime&) = delete;

 private:
  const LaneContext& context_;
  base::Duration begin_;
  std::optional<base::LedgerScope> scope_;
};

}  // namespace esper::lanes
