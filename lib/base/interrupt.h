#pragma once
// SIGINT, SIGTERM and SIGHUP: while there is nothing to save they end the process at once. While a run trains, the
// first one asks the training thread to save and stop, and a second one, a second later at the earliest, ends the
// process. Once everything is saved they end it at once again. Exit status 130, 143 and 129. A SIGHUP that is ignored
// when the process starts (nohup) stays ignored.

#include <chrono>

#include "base/signal_scope.h"

namespace esper::base {

class Interrupt {
 public:
  // Installs the handlers; one instance a process. SIGPIPE is ignored from then on.
  Interrupt();
  ~Interrupt();
  Interrupt(const Interrupt&) = delete;
  Interrupt& operator=(const Interrupt&) = delete;

  // From here on a signal is a request; before, it ends the process.
  void begin_saving();
  // From here on it ends the process again, but for one that belongs to a request of less than a second ago.
  void end_saving();
  // The signal that asked for a stop, or 0. One relaxed load; any thread.
  static int requested();
  // Whether a signal asked for one this long ago, or longer. Any thread.
  static bool requested_for(std::chrono::nanoseconds time);

 private:
  SignalScope signals_;
};

}  // namespace esper::base
