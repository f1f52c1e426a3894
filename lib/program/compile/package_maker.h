#pragma once
// Makes packages for a cache that processes share: each program is compiled by one of them, and the others take its
// package. One thread.

#include <atomic>
#include <string>

#include "base/clock.h"
#include "base/expected.h"
#include "program/cache/compile_lock.h"
#include "program/cache/package_cache.h"
#include "program/compile/compile_request.h"
#include "program/compile/restarting_worker.h"
#include "program/compile/wake_pipe.h"

namespace esper::program {

class PackageMaker {
 public:
  // `cache` and `stage` outlive it. `stage` is what other threads may know of it. Starts nothing.
  PackageMaker(CompilerSettings settings, PackageCache& cache, std::atomic<CompileStage>& stage);

  // Waits for another process that compiles the program; else compiles it, and stores its package in the cache.
  CompileOutcome make(const CompileRequest& request, const Interrupt& interrupt);
  // Kills the worker with everything it started.
  void stop() { worker_.stop(); }

 private:
  base::Expected<CompileLock, CompileOutcome> await_lock(const CompileRequest& request, const Interrupt& interrupt);
  CompileOutcome store(const CompileRequest& request, const WorkerAnswer& answer);

  const CompilerSettings settings_;
  PackageCache& cache_;
  std::atomic<CompileStage>& stage_;
  const base::Clock clock_;
  RestartingWorker worker_;
};

}  // namespace esper::program
