#pragma once
// Ctrl-C while trainings run as child processes: the command ends after it has ended them.

#include "base/signal_scope.h"

namespace esper::drill {

// While it lives, SIGINT, SIGTERM and SIGHUP end no process, but check() throws. One at a time.
class Stop {
 public:
  Stop();
  // Throws Error{kInterrupted, kTerminated, kHungUp} where one came. Any thread.
  static void check();
  static bool is_asked();

 private:
  base::SignalScope signals_;
};

}  // namespace esper::drill
