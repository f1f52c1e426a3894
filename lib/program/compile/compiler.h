#pragma once
// The compile service: a background thread with one worker process, both started at the first submit(). Programs are
// compiled one after another, in the order of their submission; packages go to the cache. What another process that
// shares the cache compiles is waited for (package_maker.h). A worker that crashes is restarted a few times; then every
// request is refused (restarting_worker.h). All functions may be called from any thread and, but for wait(), return at
// once.

#include <atomic>
#include <condition_variable>
#include <mutex>
#include <optional>
#include <string>
#include <thread>

#include "base/clock.h"
#include "program/cache/package_cache.h"
#include "program/compile/compile_request.h"
#include "program/compile/package_maker.h"
#include "program/compile/request_queue.h"
#include "program/compile/wake_pipe.h"

namespace esper::program {

class Compiler {
 public:
  // `cache` outlives it. Starts nothing.
  Compiler(CompilerSettings settings, PackageCache& cache);
  // Drops what waits and kills the worker with its children: takes milliseconds, seconds where the worker hangs. Where
  // the thread itself hangs, on the cache's disk, the process ends at settings.end_deadline with ExitCode::kTryAgain,
  // unless a deadline of its command (base/exit_deadline.h) came before.
  ~Compiler();
  Compiler(const Compiler&) = delete;
  Compiler& operator=(const Compiler&) = delete;

  void submit(CompileRequest request);
  // Its outcome is then kCancelled; the worker stays warm. One that was there already, and that nobody took, is
  // dropped.
  void cancel(const std::string& key);
  // Each outcome is given once, by poll() or by wait().
  std::optional<CompileOutcome> poll(const std::string& key);
  // Nothing when the deadline (from now) passes first, or nothing of that key was submitted.
  std::optional<CompileOutcome> wait(const std::string& key, base::Duration deadline);

  // Requests without outcome yet.
  int pending() const;
  CompileStage stage() const { return stage_; }

 private:
  void run();
  std::optional<CompileRequest> next();

  mutable std::mutex mutex_;
  std::condition_variable changed_;
  RequestQueue requests_;
  bool stopping_ = false;
  const base::Duration end_deadline_;

  WakePipe wake_pipe_;
  std::atomic<CompileStage> stage_{CompileStage::kIdle};
  PackageMaker maker_;  // of the background thread only
  std::thread thread_;
};

}  // namespace esper::program
