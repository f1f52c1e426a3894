#include "program/compile/package_maker.h"

#include <filesystem>
#include <system_error>
#include <utility>

#include "base/names.h"
#include "program/compile/io_failure.h"
#include "storage/file_tools.h"

namespace esper::program {
namespace {

constexpr base::Duration kCompileLockPoll = std::chrono::milliseconds(50);

CompileRank rank_of(CompileEffort effort, WorkerPriority priority) {
  const bool full = effort == CompileEffort::kFull;
  if (priority == WorkerPriority::kBackground) {
    return full ? CompileRank::kFullBackground : CompileRank::kQuickBackground;
  }
  return full ? CompileRank::kFull : CompileRank::kQuick;
}

CompileOutcome outcome_by_other_process(const CompileRequest& request, const PackageFacts& facts) {
  CompileOutcome outcome = outcome_of(request);
  outcome.by_other_process = true;
  outcome.compile_ms = facts.compile_ms;
  outcome.compiler = facts.compiler;
  return outcome;
}

CompileOutcome outcome_by_worker(const CompileRequest& request, const WorkerAnswer& answer) {
  CompileOutcome outcome = outcome_of(request);
  if (answer.kind != WorkerAnswer::Kind::kDone) outcome.failure = answer.failure;
  outcome.reason = answer.reason;
  outcome.compile_ms = answer.ms;
  outcome.compiler = answer.compiler;
  outcome.stage_ms = answer.stage_ms;
  outcome.not_used = answer.not_used;
  return outcome;
}

}  // namespace

PackageMaker::PackageMaker(CompilerSettings settings, PackageCache& cache, std::atomic<CompileStage>& stage)
    : settings_(std::move(settings)),
      cache_(cache),
      stage_(stage),
      worker_(settings_, cache.files(), cache.folder() + "/worker", cache.mac_key(), stage) {}

CompileOutcome PackageMaker::make(const CompileRequest& request, const Interrupt& interrupt) {
  const auto lock = await_lock(request, interrupt);  // until the package is in the cache
  if (!lock) return lock.error();
  // Another process may have stored it since the cache was last asked.
  if (const auto facts = cache_.facts(request.key);
      facts && (request.effort == CompileEffort::kQuick || has_effort(*facts, CompileEffort::kFull))) {
    return outcome_by_other_process(request, *facts);
  }
  return store(request, worker_.compile(request, interrupt));
}

base::Expected<CompileLock, CompileOutcome> PackageMaker::await_lock(const CompileRequest& request,
                                                                     const Interrupt& interrupt) {
  const auto refused = [&](CompileFailure failure, std::string reason) {
    return base::failure(failed_outcome(request, failure, std::move(reason)));
  };
  const CompileRank rank = rank_of(request.effort, settings_.priority);
  // As long as the other process may take: its worker's start comes before the compilation.
  const auto longest = settings_.start_deadline + settings_.wall_deadline;
  const auto deadline = clock_.now() + longest;
  try {
    storage::ensure_folder(cache_.files(), cache_.folder());
    for (;;) {
      if (auto taken = CompileLock::try_take(cache_.folder(), request.key, rank)) return std::move(*taken);
      stage_ = CompileStage::kOtherProcess;
      if (clock_.now() >= deadline) {
        return refused(CompileFailure::kTimeout,
                       "another process has been compiling the program for " + base::to_string(longest));
      }
      if (!interruptible_sleep(kCompileLockPoll, interrupt)) return refused(CompileFailure::kCancelled, "cancelled");
    }
  } catch (const base::IoError& error) {
    auto [failure, reason] = io_failure(error);
    return refused(failure, std::move(reason));
  }
}

CompileOutcome PackageMaker::store(const CompileRequest& request, const WorkerAnswer& answer) {
  CompileOutcome outcome = outcome_by_worker(request, answer);
  if (outcome.failure) return outcome;
  const PackageFacts facts = {request.recipe,
                              std::string(base::name_of(request.effort)),
                              worker_.torch_version(),
                              answer.compiler,
                              answer.ms,
                              base::rfc3339(clock_.wall())};
  const auto stored = cache_.insert(request.key, answer.package, facts);
  std::error_code ignored;
  std::filesystem::remove_all(std::filesystem::path(answer.package).parent_path(), ignored);
  if (stored.kept) {
    auto theirs = outcome_by_other_process(request, *stored.kept);
    theirs.not_used = answer.not_used;
    return theirs;
  }
  if (stored.failure) {
    outcome.failure =
        stored.failure == InsertFailure::kNoSpace ? CompileFailure::kDiskFull : CompileFailure::kCacheRefused;
    outcome.reason = stored.reason;
  }
  return outcome;
}

}  // namespace esper::program
