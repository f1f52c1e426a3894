#include "tolaria/safety/step_watch.h"

#include <chrono>
#include <cstdint>

#include "step/model.h"

namespace esper::tolaria {
namespace {

constexpr auto kLookEvery = std::chrono::seconds(2);

bool is_late(const RunFacts& facts) {
  using Watching = config::StepWatching;
  const Watching watching = facts.config.safety.step_watch;
  return watching == Watching::kLate || (watching == Watching::kAuto && !facts.device.is_cpu());
}

}  // namespace

StepWatch::StepWatch(const RunFacts& facts, const step::Model& model, std::int64_t noticed_before)
    : facts_(facts), model_(model), each_before_(is_late(facts) ? noticed_before : INT64_MAX) {}

void StepWatch::begin_epoch(std::int64_t next) {
  using Overflow = step::FiniteWatch::Overflow;
  const bool is_half = model_.settings.compute_type == torch::kHalf;
  watch_.begin(model_.state, is_half ? Overflow::kOrdinary : Overflow::kTrouble);
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

std::optional<BadStep> StepWatch::look_at(std::int64_t step, std::span<const step::Microbatch> microbatches) {
  if (step >= each_before_ || !trips(microbatches)) return std::nullopt;
  const std::string tensor = bad_tensor(microbatches);
  if (tensor.empty()) return BadStep{step, reason()};
  return BadStep{step, tensor + " is not finite", tensor.starts_with("batch.")};
}

std::optional<BadStep> StepWatch::look_back(std::int64_t next, When when) {
  if (next > each_before_) {
    const base::Duration now = facts_.clock.now();
    if (when == When::kIfDue && now - looked_ < kLookEvery) return std::nullopt;
    looked_ = now;
    if (trips({})) {
      each_before_ = next;
      return BadStep{good_before_, reason(), false, Trouble::kUnknownStep};
    }
  }
  good_before_ = next;
  return std::nullopt;
}

}  // namespace esper::tolaria
