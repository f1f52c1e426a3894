#pragma once
// SIGINT and SIGTERM: while there is nothing to save they end the process at once; afterwards the first one asks the
// training thread to save and stop, and a second one, a second later at the earliest, ends the process. Exit status 130
// and 143 either way.

namespace esper::tolaria {

class Interrupt {
 public:
  // Installs the handlers; one instance a process. SIGPIPE is ignored from then on.
  Interrupt();
  ~Interrupt();
  Interrupt(const Interrupt&) = delete;
  Interrupt& operator=(const Interrupt&) = delete;

  // From here on a signal is a request; before, it ends the process.
  void begin_saving();
  // The signal that asked for a stop, or 0. One relaxed load; any thread.
  static int requested();
};

}  // namespace esper::tolaria
