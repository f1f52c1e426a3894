#include "tolaria/safety/step_watch.h"

#include <chrono>
#include <cstdint>

#include "leyline/telemetry/telemetry.h"
#include "step/model.h"

namespace esper::tolaria {
namespace {

using leyline::event;
using namespace leyline::literals;

constexpr auto kLookEvery = std::chrono::seconds(2);

}  // namespace

bool StepWatch::is_late(std::int64_t step) const {
  using Watching = config::StepWatching;
  const Watching watching = facts_.config.safety.step_watch;
  const bool is_late = watching == Watching::kLate || (watching == Watching::kAuto && !facts_.device.is_cpu());
  return is_late && step >= progress_.safety.search_until && !progress_.safety.compares_step(step);
}

void StepWatch::begin_epoch(std::int64_t next) {
  using Overflow = step::FiniteWatch::Overflow;
  const bool is_half = model_.settings.compute_type == torch::kHalf;
  watch_.begin(model_.state, is_half ? Overflow::kOrdinary : Overflow::kFailure);
  good_before_ = next;
  looked_ = facts_.clock.now();
}

std::string StepWatch::bad_tensor(std::span<const step::Microbatch> microbatches) const {
  return step::first_not_finite(step::all_tensors(model_, facts_.device), microbatches);
}

std::string StepWatch::reason() const {
  const bool overflows = step::FiniteWatch::is_scale_at_its_end(model_.state);
  return overflows ? "the gradients overflow, however small the loss scale"
                   : "the loss or the gradient of a step is not finite";
}

bool StepWatch::trips(std::span<const step::Microbatch> microbatches) {
  return watch_.trips(model_.state, [&] { return bad_tensor(microbatches); });
}

std::optional<TrainingFailure> StepWatch::look_at(std::int64_t step, std::span<const step::Microbatch> microbatches) {
  if (is_late(step) || !trips(microbatches)) return std::nullopt;
  const std::string tensor = bad_tensor(microbatches);
  if (tensor.empty()) return TrainingFailure{FailureKind::kNonfiniteStep, step, reason()};
  return TrainingFailure{FailureKind::kNonfiniteStep, step, tensor + " is not finite", tensor.starts_with("batch.")};
}

std::optional<TrainingFailure> StepWatch::look_back(std::int64_t next, When when) {
  const SafetyRecord& safety = progress_.safety;
  if (safety.searches > 0 && next == safety.search_until) {
    outbox_.emit(event("tolaria.bad_step_not_found"_event, leyline::Level::kWarning,
                       {{"epoch", std::to_string(progress_.epoch + 1)},
                        {"step", std::to_string(next)},
                        {"searches", std::to_string(safety.searches)}}));
  }
  if (is_late(next - 1)) {
    const base::Duration now = facts_.clock.now();
    if (when == When::kIfDue && now - looked_ < kLookEvery) return std::nullopt;
    looked_ = now;
    if (trips({})) return TrainingFailure{FailureKind::kNonfiniteRange, good_before_, reason(), false, next};
  }
  good_before_ = next;
  return std::nullopt;
}

}  // namespace esper::tolaria
