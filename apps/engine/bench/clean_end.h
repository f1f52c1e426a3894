#pragma once
// SIGINT, SIGTERM and SIGHUP while something is measured: the scratch folder is removed, a message is printed, and the
// process ends with 130, 143 or 129. A thread of its own does it, since the measuring one may be waiting for a
// compiler.

#include <optional>
#include <string>
#include <thread>

#include "base/signal_scope.h"
#include "engine/scratch.h"
#include "esper/engine_api.h"

namespace esper::engine::bench {

class CleanEnd {
 public:
  // Installs the handlers; one instance a process. The scratch folder is removed at a signal, not at the end of this
  // object. Where the job's result is JSON, the message goes to standard output too, as an error object.
  CleanEnd(const Scratch& scratch, const Job& job);
  // Gives the signals back their usual meaning.
  ~CleanEnd();
  CleanEnd(const CleanEnd&) = delete;
  CleanEnd& operator=(const CleanEnd&) = delete;

 private:
  void watch() const;

  std::string folder_;
  bool prints_json_;
  int ends_[2] = {-1, -1};  // of a pipe: the handler writes the signal, the thread reads it; 0: stop watching
  std::thread watcher_;
  std::optional<base::SignalScope> signals_;
};

}  // namespace esper::engine::bench
