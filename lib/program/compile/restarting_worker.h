#pragma once
// A compile worker that is started when it is first needed, and again after a crash: after a pause that doubles, at
// most CompilerSettings::max_restarts times. One thread.

#include <atomic>
#include <optional>
#include <string>

#include "base/file_system.h"
#include "crypto/mac.h"
#include "program/compile/compile_request.h"
#include "program/compile/wake_pipe.h"
#include "program/compile/worker_session.h"

namespace esper::program {

class RestartingWorker {
 public:
  // References outlive it. `folder`, in `files`, is the worker's own and is made for it. `mac_key` and `stage`: as
  // WorkerSession takes them.
  RestartingWorker(const CompilerSettings& settings, base::FileSystem& files, const std::string& folder,
                   const crypto::MacKey& mac_key, std::atomic<CompileStage>& stage);

  // A worker that dies under a request costs it one try: it gets one more, with a new worker. Never kDied;
  // kUnavailable: every later call gives the same failure.
  WorkerAnswer compile(const CompileRequest& request, const Interrupt& interrupt);
  void stop() { session_.stop(); }
  // Of the worker last started.
  const std::string& torch_version() const { return session_.torch_version(); }

 private:
  WorkerAnswer attempt(const CompileRequest& request, const Interrupt& interrupt);
  WorkerAnswer start(const Interrupt& interrupt);

  const CompilerSettings& settings_;
  base::FileSystem& files_;
  const std::string folder_;
  WorkerSession session_;
  int restarts_ = 0;
  std::optional<WorkerAnswer> unavailable_;  // the answer to every further request
};

}  // namespace esper::program
