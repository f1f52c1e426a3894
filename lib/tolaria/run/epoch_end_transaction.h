#pragma once
// Makes an end of an epoch that may be interrupted all or nothing: until commit(), what is saved is the run as it was
// before, so a process that continues from there repeats the whole end. Training thread.

#include <cstddef>
#include <functional>
#include <optional>

#include "tolaria/run/outbox.h"
#include "tolaria/run/saver.h"
#include "tolaria/state/run_progress.h"

namespace esper::tolaria {

enum class EpochEnd { kComplete, kInterrupted };

class EpochEndTransaction {
 public:
  // Borrows all of it.
  EpochEndTransaction(RunProgress& progress, Saver& saver, Outbox& outbox)
      : progress_(progress), saver_(saver), outbox_(outbox) {}
  EpochEndTransaction(const EpochEndTransaction&) = delete;
  EpochEndTransaction& operator=(const EpochEndTransaction&) = delete;

  // events: those in the outbox that stay if the end is interrupted.
  void begin(std::size_t events);
  // If it has begun: the epoch was undone, and a process that goes on begins where the epoch began, or it would take
  // the exploded state for a good one. restored: the progress of the model as it is now.
  void begin_at(const RunProgress& restored);
  // Carries out what makes the end complete: commits, or rolls back if it was interrupted or throws.
  EpochEnd complete(const std::function<EpochEnd()>& end_epoch);
  // The end was interrupted: progress and outbox become what they were. The model stays as it is, and what is saved
  // from now on is the state of before.
  void rollback();

 private:
  void commit();

  struct Before {
    RunProgress progress;
    std::size_t events = 0;  // that wait in the outbox
  };

  RunProgress& progress_;
  Saver& saver_;
  Outbox& outbox_;
  std::optional<Before> before_;
};

}  // namespace esper::tolaria
