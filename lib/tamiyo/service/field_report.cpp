#include "tamiyo/service/field_report.h"

#include <fmt/core.h>

#include <algorithm>

#include "base/names.h"
#include "leyline/telemetry/telemetry.h"

namespace esper::tamiyo {

using namespace leyline::literals;

Outcome outcome_of(std::string_view risk_reason) {
  constexpr std::array<std::string_view, 3> kRegressions{"loss_spike", "isolation_violations", "hook_budget"};
  constexpr std::array<std::string_view, 4> kNeutral{"timeout_inference", "conservative_mode", "runtime_failure",
                                                     "breaker_open"};
  if (std::ranges::find(kRegressions, risk_reason) != kRegressions.end()) return Outcome::kRegression;
  if (std::ranges::find(kNeutral, risk_reason) != kNeutral.end()) return Outcome::kNeutral;
  return Outcome::kSuccess;
}

leyline::TelemetryEvent report_event(const FieldReport& report) {
  const auto metric = [&](const char* name) {
    return report.metrics.empty() ? "" : fmt::format("{:.6g}", report.metrics.at(name));
  };
  return leyline::event("tamiyo.field_report"_event, leyline::Level::kInfo,
                        {{"command_id", report.command_id},
                         {"seed_id", report.seed_id},
                         {"slot", report.slot},
                         {"blueprint", report.blueprint_id},
                         {"outcome", std::string(base::name_of(report.outcome))},
                         {"reason", report.risk_reason},
                         {"epoch", std::to_string(report.epoch)},
                         {"epochs", std::to_string(report.observation_window_epochs)},
                         {"loss_delta", metric("validation_loss_delta")},
                         {"accuracy_delta", metric("validation_accuracy_delta")}});
}

}  // namespace esper::tamiyo
