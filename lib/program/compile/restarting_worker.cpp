#include "program/compile/restarting_worker.h"

#include <algorithm>

#include "program/compile/io_failure.h"
#include "storage/file_tools.h"

namespace esper::program {
namespace {

using Kind = WorkerAnswer::Kind;

}  // namespace

RestartingWorker::RestartingWorker(const CompilerSettings& settings, base::FileSystem& files, const std::string& folder,
                                   const crypto::MacKey& mac_key, std::atomic<CompileStage>& stage)
    : settings_(settings), files_(files), folder_(folder), session_(settings, folder, mac_key, stage) {}

WorkerAnswer RestartingWorker::compile(const CompileRequest& request, const Interrupt& interrupt) {
  if (unavailable_) return *unavailable_;
  for (int crashes = 1;; ++crashes) {
    const WorkerAnswer answer = attempt(request, interrupt);
    if (answer.kind == Kind::kUnavailable) unavailable_ = WorkerAnswer{answer.kind, answer.failure, answer.reason};
    if (answer.kind != Kind::kDied) return answer;
    const std::string reason = "the compile worker exited (" + answer.reason + ")";
    if (restarts_ >= settings_.max_restarts) {
      unavailable_ = {Kind::kUnavailable, CompileFailure::kCrashed, reason + "; the restart limit is reached"};
      return *unavailable_;
    }
    const auto pause = settings_.restart_pause * (1 << std::min(restarts_, 10));
    ++restarts_;
    if (!interruptible_sleep(pause, interrupt)) return {Kind::kFailed, CompileFailure::kCancelled, "cancelled"};
    if (crashes == 2) return {Kind::kFailed, CompileFailure::kCrashed, reason + " twice at this program"};
  }
}

WorkerAnswer RestartingWorker::attempt(const CompileRequest& request, const Interrupt& interrupt) {
  if (interrupt.wanted()) return {Kind::kFailed, CompileFailure::kCancelled, "cancelled"};
  if (!session_.is_running()) {
    auto started = start(interrupt);
    if (started.kind != Kind::kDone) return started;
  }
  return session_.compile(request, interrupt);
}

WorkerAnswer RestartingWorker::start(const Interrupt& interrupt) {
  try {
    storage::ensure_folder(files_, folder_);
  } catch (const base::IoError& error) {
    auto [failure, reason] = io_failure(error);
    return {Kind::kUnavailable, failure, std::move(reason)};
  }
  return session_.start(interrupt);
}

}  // namespace esper::program
