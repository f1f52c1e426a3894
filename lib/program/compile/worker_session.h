#pragma once
// The background thread's side of a compile worker: it is started, given one program after another,
// stopped. compile/worker/__main__.py has the other side of the protocol. One thread.

#include <atomic>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "crypto/mac.h"
#include "program/compile/compile_request.h"
#include "program/compile/wake_pipe.h"
#include "program/compile/worker_process.h"

namespace esper::program {

enum class WorkerPriority {
  kNormal,      // this process's: the run waits for the programs
  kBackground,  // the lowest: on a busy machine the worker gets what others leave
};

struct CompilerSettings {
  std::string python;          // executable whose torch is the one this process runs
  std::string torch_version;   // of this process; a worker with another is refused. Empty: not compared
  std::string device = "cpu";  // cpu | cuda: what the programs are for
  int card = 0;                // for cuda: which one, as this process counts them
  Numerics numerics{};
  // Processor time of one compilation: of the worker's child and of all that it starts. What is made once on a machine,
  // headers above all, is not counted, nor is what comes before the child could begin: for a GPU, to import torch.
  base::Duration deadline = std::chrono::seconds(120);
  // Of one compilation by the clock. Another process's is waited for as long, and start_deadline more.
  base::Duration wall_deadline = std::chrono::minutes(20);
  base::Duration start_deadline = std::chrono::minutes(10);  // of the worker's start, by the clock: it imports torch
  WorkerPriority priority = WorkerPriority::kNormal;
  std::string headers_dir;  // where the worker keeps precompiled headers and the like; empty: its own folder
  std::int64_t memory_limit_mb = 4096;  // of one compilation: what a job and its compilers add to its beginning
  int max_restarts = 3;
  base::Duration restart_pause = std::chrono::milliseconds(500);
  base::Duration end_deadline = std::chrono::minutes(3);  // of the compiler's end
};

struct WorkerAnswer {
  enum class Kind {
    kDone,
    kFailed,       // failure and reason say why; the worker is as before
    kUnavailable,  // failure and reason; every further worker would fail in the same way
    kDied,         // reason: how the process ended. A new one may do better
  };
  Kind kind = Kind::kDone;
  CompileFailure failure{};
  std::string reason{};
  // Of a program, done or failed by the worker itself:
  std::vector<std::string> not_used{};  // files kept from earlier jobs that this user's key did not make
  std::string package{};                // path of the file, in a folder that is the caller's to remove
  double ms = 0;                        // from its beginning
  std::map<std::string, double> stage_ms{};
  std::string compiler{};
};

class WorkerSession {
 public:
  // `folder` is the worker's own, and is there when it starts. `mac_key`: of the files that it keeps between jobs.
  // `stage` is what other threads may know of it.
  WorkerSession(const CompilerSettings& settings, std::string folder, const crypto::MacKey& mac_key,
                std::atomic<CompileStage>& stage);
  ~WorkerSession() { stop(); }

  bool is_running() const { return process_.has_value(); }
  WorkerAnswer start(const Interrupt& interrupt);
  // It is running.
  WorkerAnswer compile(const CompileRequest& request, const Interrupt& interrupt);
  // Kills it with everything it started.
  void stop();
  // Of the worker last started.
  const std::string& torch_version() const { return torch_version_; }

 private:
  WorkerCommand command() const;
  std::optional<WorkerAnswer> launch();
  WorkerAnswer greeted(const std::string& line);
  WorkerAnswer died();
  WorkerAnswer unavailable(CompileFailure failure, std::string reason);
  WorkerAnswer await_reply(std::uint64_t job, const Interrupt& interrupt);

  const CompilerSettings& settings_;
  const std::string folder_;
  const crypto::MacKey mac_key_;
  std::atomic<CompileStage>& stage_;
  const base::Clock clock_;
  std::optional<WorkerProcess> process_;
  std::string torch_version_;
  std::uint64_t jobs_ = 0;
};

}  // namespace esper::program
