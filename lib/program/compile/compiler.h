#pragma once
// The compile service: a background thread with one worker process, both started at the first submit(). Programs are
// compiled one after another, in the order of their submission; packages go to the cache. What another process that
// shares the cache compiles is waited for (cache/compile_lock.h). A worker that crashes is
// restarted after a pause that doubles, at most CompilerSettings::max_restarts times; then every request is refused.
// All functions may be called from any thread and, but for wait(), return at once.

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "base/clock.h"
#include "program/cache/compile_lock.h"
#include "program/cache/package_cache.h"
#include "program/compile/compile_request.h"
#include "program/compile/wake_pipe.h"
#include "program/compile/worker_session.h"

namespace esper::program {

class Compiler {
 public:
  // `cache` outlives it. Starts nothing.
  Compiler(CompilerSettings settings, PackageCache& cache);
  // Cancels what waits and kills the worker with its children: takes milliseconds.
  ~Compiler();
  Compiler(const Compiler&) = delete;
  Compiler& operator=(const Compiler&) = delete;

  void submit(CompileRequest request);
  // Its outcome is then kCancelled; the worker stays warm. Nothing of that key waiting or running: no effect.
  void cancel(const std::string& key);
  // Each outcome is given once, by poll() or by wait().
  std::optional<CompileOutcome> poll();
  // Nothing when the deadline (from now) passes first, or nothing of that key was submitted.
  std::optional<CompileOutcome> wait(const std::string& key, base::Duration deadline);

  // Requests without outcome yet.
  int pending() const;
  CompileStage stage() const { return stage_; }

 private:
  void run();
  bool next(CompileRequest& request);
  CompileOutcome compile(const CompileRequest& request);
  std::optional<CompileOutcome> await_lock(const CompileRequest& request, std::optional<CompileLock>& lock);
  std::optional<CompileOutcome> compiled_elsewhere(const CompileRequest& request);
  CompileOutcome by_other_process(const CompileRequest& request, const PackageFacts& facts) const;
  CompileOutcome compile_here(const CompileRequest& request);
  WorkerAnswer attempt(const CompileRequest& request);
  std::optional<WorkerAnswer> make_worker_folder();
  CompileOutcome accept(const CompileRequest& request, const WorkerAnswer& answer);
  CompileOutcome ended(const CompileRequest& request, CompileFailure failure, std::string reason) const;
  bool pause(base::Duration length);
  bool is_abandoned(const std::string& key);

  const CompilerSettings settings_;
  PackageCache& cache_;
  const base::Clock clock_;

  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<CompileRequest> waiting_;
  std::vector<CompileOutcome> outcomes_;
  std::string running_;  // key; empty: none
  bool abandon_running_ = false;
  bool stopping_ = false;

  WakePipe wake_pipe_;
  std::atomic<CompileStage> stage_{CompileStage::kIdle};

  // Of the background thread only.
  WorkerSession worker_;
  int restarts_ = 0;
  std::optional<CompileOutcome> unavailable_;  // the result of every further request

  std::thread thread_;
};

}  // namespace esper::program
