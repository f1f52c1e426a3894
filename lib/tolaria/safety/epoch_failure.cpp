#include "tolaria/safety/epoch_failure.h"

#include <utility>

namespace esper::tolaria {

void EpochFailure::begin_epoch(Seeds seeds) {
  seeds_ = seeds;
  of_step_.reset();
  of_epoch_.clear();
}

void EpochFailure::record(std::optional<TrainingFailure> failure) {
  if (!failure) return;
  if (is_of_step(*failure)) {
    of_step_ = std::move(failure);
  } else {
    of_epoch_ = std::move(failure->reason);
  }
}

bool EpochFailure::is_of_step(const TrainingFailure& failure) const {
  return rolls_back_steps() || failure.kind == FailureKind::kOutOfMemory ||
         suspects_program(failure, progress_.safety,
                          {.config = facts_.config.safety, .epoch_end = facts_.epoch_end(progress_)});
}

}  // namespace esper::tolaria
