#include "tolaria/report/low_scale_warning.h"

#include <fmt/core.h>

#include <algorithm>
#include <string>

#include "leyline/telemetry/telemetry.h"

namespace esper::tolaria {
namespace {

using leyline::Level;
using leyline::TelemetryEvent;
using namespace leyline::literals;

constexpr char kOfNetwork[] =
    "gradients overflow in fp16 even without a scale, and with one below 1 small gradients become zero; try "
    "device.precision: bf16, or a lower training.optimizer.lr";
constexpr char kOfSeed[] =
    "the seed's own gradients overflow, so that its steps are skipped, and with a scale below 1 small gradients become "
    "zero: it hardly learns; try device.precision: bf16, or growth.training: blended";

}  // namespace

std::vector<TelemetryEvent> low_scale_warnings(const step::StepSettings& settings, std::uint32_t epoch,
                                               const step::StepMetrics& steps) {
  std::vector<TelemetryEvent> warnings;
  if (settings.compute_type != torch::kHalf || !settings.scales_loss()) return warnings;
  const double useful = std::min(1.0, settings.grad_scaler.init_scale);
  if (steps.nonfinite_steps > 0 && steps.loss_scale < useful) {
    warnings.push_back(leyline::event("tolaria.scaler.scale_low"_event, Level::kWarning,
                                      {{"epoch", std::to_string(epoch)},
                                       {"scale", fmt::format("{}", steps.loss_scale)},
                                       {"skipped", std::to_string(steps.nonfinite_steps)},
                                       {"steps", std::to_string(steps.steps)},
                                       {"reason", kOfNetwork}}));
  }
  for (const auto& [seed_id, scale] : steps.seed_loss_scales) {
    if (scale >= std::min(useful, steps.loss_scale)) continue;
    warnings.push_back(leyline::event("tolaria.scaler.scale_low"_event, Level::kWarning,
                                      {{"epoch", std::to_string(epoch)},
                                       {"scale", fmt::format("{}", scale)},
                                       {"seed_id", seed_id},
                                       {"steps", std::to_string(steps.steps)},
                                       {"reason", kOfSeed}}));
  }
  return warnings;
}

}  // namespace esper::tolaria
