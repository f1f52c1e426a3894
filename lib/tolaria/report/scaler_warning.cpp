#include "tolaria/report/scaler_warning.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <string>

#include "leyline/telemetry/telemetry.h"

namespace esper::tolaria {
namespace {

using namespace leyline::literals;

constexpr char kScalerAdvice[] =
    "gradients overflow in fp16, and a step that is skipped changes nothing; try device.precision: bf16, a lower "
    "training.optimizer.lr, or a lower init_scale, a higher growth_interval or a lower backoff_factor of "
    "training.grad_scaler";

// From the first scale to 1. At most as many as the highest one takes by halves: a backoff_factor near 1 would take
// thousands.
std::int64_t start_up_skips(const config::GradScalerConfig& scaler) {
  constexpr double kMost = 40;
  if (scaler.init_scale <= 1) return 0;
  const double skips = std::ceil(std::log2(scaler.init_scale) / -std::log2(scaler.backoff_factor));
  return static_cast<std::int64_t>(std::min(skips, kMost));
}

bool is_half_or_more(std::int64_t part, std::int64_t whole) { return part > 0 && 2 * part >= whole; }

leyline::TelemetryEvent warning_of(std::uint32_t epoch, const step::StepMetrics& steps, std::int64_t skipped_total,
                                   std::int64_t steps_total) {
  return leyline::event("tolaria.scaler.most_steps_skipped"_event, leyline::Level::kWarning,
                        {{"epoch", std::to_string(epoch)},
                         {"skipped", std::to_string(steps.nonfinite_steps)},
                         {"steps", std::to_string(steps.steps)},
                         {"skipped_total", std::to_string(skipped_total)},
                         {"steps_total", std::to_string(steps_total)},
                         {"scale", fmt::format("{}", steps.loss_scale)},
                         {"reason", kScalerAdvice}});
}

}  // namespace

std::optional<leyline::TelemetryEvent> scaler_warning(const step::StepSettings& settings, const RunProgress& progress,
                                                      const EpochResults& results) {
  const step::StepMetrics& epoch = results.steps;
  if (!settings.scales_loss() || !results.measured.undone.empty()) return {};
  const bool of_epoch = is_half_or_more(epoch.nonfinite_steps, epoch.steps);
  const bool of_run = is_half_or_more(progress.scaler_skips, progress.step);
  const bool is_start_up = progress.scaler_skips <= start_up_skips(settings.grad_scaler);
  if (results.is_last ? !of_epoch && !of_run : !of_epoch || is_start_up) return {};
  return warning_of(progress.epoch, epoch, progress.scaler_skips, progress.step);
}

std::optional<leyline::TelemetryEvent> scaler_warning_at_signal(const step::StepSettings& settings,
                                                                const RunProgress& progress,
                                                                const step::StepMetrics& uncounted) {
  if (!settings.scales_loss()) return {};
  const std::int64_t skipped = uncounted.nonfinite_steps, skipped_total = progress.scaler_skips + skipped;
  const std::int64_t start_up = start_up_skips(settings.grad_scaler);
  const bool of_epoch = is_half_or_more(skipped, uncounted.steps) && skipped > start_up;
  const bool of_run = is_half_or_more(skipped_total, progress.step) && skipped_total > start_up;
  if (!of_epoch && !of_run) return {};
  return warning_of(progress.epoch + (uncounted.steps > 0 ? 1 : 0), uncounted, skipped_total, progress.step);
}

}  // namespace esper::tolaria
