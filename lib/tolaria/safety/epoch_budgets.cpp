#include "tolaria/safety/epoch_budgets.h"

#include <fmt/core.h>

#include <string>

#include "leyline/telemetry/telemetry.h"

namespace esper::tolaria {

using leyline::event;
using leyline::Level;
using namespace leyline::literals;

void EpochBudgets::check(const RunProgress& progress, double train_ms, double hook_ms, Emergency& emergency) {
  const std::string epoch = std::to_string(progress.epoch);
  const auto text = [](double ms) { return fmt::format("{:.3f}", ms); };
  const auto notice = [&](const char* part, double took_ms) {
    emergency.raise(EmergencyLevel::kNotice, progress.safety.failures_before(progress.step),
                    fmt::format("{} of epoch {} took {:.0f} ms", part, epoch, took_ms));
  };
  if (const auto limit = epoch_.exceeded(train_ms)) {
    outbox_.emit(event("tolaria.epoch_budget_exceeded"_event, Level::kWarning,
                       {{"latency_ms", text(train_ms)}, {"budget_ms", text(*limit)}, {"epoch", epoch}}));
    notice("the training part", train_ms);
  }
  if (const auto limit = hook_.exceeded(hook_ms)) {
    outbox_.emit(event("tolaria.hook_budget_exceeded"_event, Level::kWarning,
                       {{"latency_ms", text(hook_ms)}, {"budget_ms", text(*limit)}, {"epoch", epoch}}));
    notice("what follows the steps", hook_ms);
  }
}

}  // namespace esper::tolaria
