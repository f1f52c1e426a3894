#pragma once
// Ctrl-C as the way out of a command that only watches.

#include <string>

#include "base/signal_scope.h"

namespace esper {

// While it lives, SIGINT ends this process with exit status 0, after `farewell` was written to the descriptor; SIGTERM
// and SIGHUP end it with 128 and their number, after the same. One at a time.
class QuitOnInterrupt {
 public:
  QuitOnInterrupt(int descriptor, std::string farewell);
  ~QuitOnInterrupt();
  QuitOnInterrupt(const QuitOnInterrupt&) = delete;
  QuitOnInterrupt& operator=(const QuitOnInterrupt&) = delete;

 private:
  base::SignalScope signals_;
};

}  // namespace esper
