#pragma once
// Looks whether a run's steps were finite: on the CPU at each. On a GPU, where a look waits for the device, late: every
// two seconds, before a save or a copy of the state, and at the end of an epoch. A failure that is noticed late is of
// one of several steps; then the run rolls back to where it was good, and on its way from there each step is looked at,
// up to where the failure was noticed (Reaction::kSearch). What it does about it is the same then. Training thread.

#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "step/finite_watch.h"
#include "step/model.h"
#include "tolaria/run/outbox.h"
#include "tolaria/safety/governor.h"
#include "tolaria/state/run_facts.h"

namespace esper::tolaria {

class StepWatch {
 public:
  // Borrows all of it.
  StepWatch(const RunFacts& facts, const step::Model& model, const RunProgress& progress, Outbox& outbox)
      : facts_(facts), model_(model), progress_(progress), outbox_(outbox) {}

  // Watches the steps from `next` on.
  void begin_epoch(std::int64_t next);
  // After a step, while the run's cursor is before it: what is wrong with it, if each is looked at.
  std::optional<TrainingFailure> look_at(std::int64_t step, std::span<const step::Microbatch> microbatches);
  // Before step `next`, where steps are looked at late: whether one since the last look went wrong; it is the one at
  // TrainingFailure::step or a later one. kIfDue: only if the last look was long ago. Reports a search that found
  // nothing.
  enum class When { kIfDue, kNow };
  std::optional<TrainingFailure> look_back(std::int64_t next, When when);

 private:
  bool is_late(std::int64_t step) const;
  bool trips(std::span<const step::Microbatch> microbatches);
  std::string bad_tensor(std::span<const step::Microbatch> microbatches) const;
  std::string reason() const;

  const RunFacts& facts_;
  const step::Model& model_;
  const RunProgress& progress_;
  Outbox& outbox_;
  step::FiniteWatch watch_;
  // Of the last look.
  std::int64_t good_before_ = 0;
  base::Duration looked_{};
};

}  // namespace esper::tolaria
