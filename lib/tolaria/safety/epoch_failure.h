#pragma once
// What went wrong in the epoch that is trained, and how much of it is undone because of that: a single step, or, where
// a growing seed may be at fault, the epoch as a whole. Training thread.

#include <optional>
#include <string>

#include "tolaria/safety/governor.h"
#include "tolaria/state/run_facts.h"

namespace esper::tolaria {

class EpochFailure {
 public:
  // Borrows both.
  EpochFailure(const RunFacts& facts, const RunProgress& progress) : facts_(facts), progress_(progress) {}

  enum class Seeds { kNone, kGrow };
  // Nothing went wrong in it yet.
  void begin_epoch(Seeds seeds);
  // A step of it that went wrong, if one did. That a program is at fault is found out before a seed is suspected.
  void record(std::optional<TrainingFailure> failure);

  // Whether the run rolls back a single step because of any failure.
  bool rolls_back_steps() const { return seeds_ == Seeds::kNone; }
  // Because of this one it rolls back the step.
  const std::optional<TrainingFailure>& of_step() const { return of_step_; }
  // Why the epoch is undone as a whole; empty: it is not.
  const std::string& of_epoch() const { return of_epoch_; }

 private:
  bool is_of_step(const TrainingFailure& failure) const;

  const RunFacts& facts_;
  const RunProgress& progress_;
  Seeds seeds_ = Seeds::kGrow;
  std::optional<TrainingFailure> of_step_;
  std::string of_epoch_;
};

}  // namespace esper::tolaria
