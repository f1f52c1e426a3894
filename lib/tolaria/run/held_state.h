#pragma once
// The run as it was before an end of an epoch that may be interrupted: what is saved meanwhile is that, so a process
// that goes on from there begins the end anew. Training thread.

#include <cstddef>
#include <optional>

#include "tolaria/run/outbox.h"
#include "tolaria/run/run_progress.h"
#include "tolaria/run/saver.h"

namespace esper::tolaria {

class HeldState {
 public:
  // Borrows all of it.
  HeldState(RunProgress& progress, Saver& saver, Outbox& outbox)
      : progress_(progress), saver_(saver), outbox_(outbox) {}
  HeldState(const HeldState&) = delete;
  HeldState& operator=(const HeldState&) = delete;

  // events: those in the outbox that stay if the end is interrupted.
  void hold(std::size_t events);
  // Where something is held: the epoch was undone, and a process that goes on begins where the epoch began, or it would
  // take the exploded state for a good one.
  void hold_restored(const RunProgress& restored);
  // The end is complete.
  void let_go();
  // The end was interrupted. The model stays where it is: what is saved from now on is what was held.
  void go_back();

 private:
  struct Held {
    RunProgress progress;
    std::size_t events = 0;  // that wait in the outbox
  };

  RunProgress& progress_;
  Saver& saver_;
  Outbox& outbox_;
  std::optional<Held> held_;
};

}  // namespace esper::tolaria
