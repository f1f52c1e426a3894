#pragma once
// The signals that ask a process to stop.

#include <signal.h>

#include <array>

namespace esper::base {

// While it lives, SIGINT, SIGTERM and SIGHUP call the handler; afterwards they do what they did before. A SIGHUP that
// is ignored, as nohup(1) arranges it, stays ignored. Interrupted system calls go on (SA_RESTART). One at a time; the
// handler may only do what is safe in a signal handler.
class SignalScope {
 public:
  explicit SignalScope(void (*handler)(int));
  ~SignalScope();
  SignalScope(const SignalScope&) = delete;
  SignalScope& operator=(const SignalScope&) = delete;

 private:
  static constexpr std::array kSignals{SIGINT, SIGTERM, SIGHUP};
  std::array<struct sigaction, kSignals.size()> before_{};
};

}  // namespace esper::base
