#include "program/compile/compiler.h"

#include <signal.h>

#include <algorithm>
#include <filesystem>
#include <system_error>

#include "base/file_system.h"
#include "base/names.h"
#include "storage/beneath.h"
#include "storage/file_tools.h"

namespace esper::program {
namespace {

constexpr char kOtherFolder[] = "; set another cache folder with --cache-dir or ESPER_CACHE";
constexpr base::Duration kCompileLockPoll = std::chrono::milliseconds(50);

CompileRank rank_of(CompileEffort effort, WorkerPriority priority) {
  const bool full = effort == CompileEffort::kFull;
  if (priority == WorkerPriority::kBackground) {
    return full ? CompileRank::kFullBackground : CompileRank::kQuickBackground;
  }
  return full ? CompileRank::kFull : CompileRank::kQuick;
}

CompileFailure failure_of(const base::IoError& error) {
  return error.out_of_space() ? CompileFailure::kDiskFull : CompileFailure::kCacheRefused;
}

std::string reason_and_way_out(const base::IoError& error) {
  const bool has_way_out = dynamic_cast<const storage::UnsafePath*>(&error) != nullptr;
  return std::string(error.what()) + (has_way_out ? "" : kOtherFolder);
}

}  // namespace

Compiler::Compiler(CompilerSettings settings, PackageCache& cache)
    : settings_(std::move(settings)),
      cache_(cache),
      worker_(settings_, cache.folder() + "/worker", cache.mac_key(), stage_) {}

Compiler::~Compiler() {
  {
    const std::lock_guard guard(mutex_);
    stopping_ = true;
  }
  wake_pipe_.wake();
  changed_.notify_all();
  if (thread_.joinable()) thread_.join();
}

void Compiler::submit(CompileRequest request) {
  ESPER_CHECK(!request.key.empty(), "a compile request needs a key");
  const std::lock_guard guard(mutex_);
  waiting_.push_back(std::move(request));
  changed_.notify_all();
  if (thread_.joinable()) return;
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);  // signals stay with the main thread, and a closed pipe gives EPIPE
  thread_ = std::thread([this] { run(); });
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

void Compiler::cancel(const std::string& key) {
  const std::lock_guard guard(mutex_);
  for (auto request = waiting_.begin(); request != waiting_.end();) {
    if (request->key != key) {
      ++request;
      continue;
    }
    outcomes_.push_back(ended(*request, CompileFailure::kCancelled, "cancelled before it started"));
    request = waiting_.erase(request);
  }
  if (running_ == key) abandon_running_ = true;
  wake_pipe_.wake();
  changed_.notify_all();
}

std::optional<CompileOutcome> Compiler::poll() {
  const std::lock_guard guard(mutex_);
  if (outcomes_.empty()) return std::nullopt;
  auto outcome = std::move(outcomes_.front());
  outcomes_.erase(outcomes_.begin());
  return outcome;
}

std::optional<CompileOutcome> Compiler::wait(const std::string& key, base::Duration deadline) {
  std::unique_lock lock(mutex_);
  const auto of_key = [&](const auto& item) { return item.key == key; };
  const auto found = [&] { return std::ranges::find_if(outcomes_, of_key); };
  const auto settled = [&] {
    return found() != outcomes_.end() || (running_ != key && std::ranges::none_of(waiting_, of_key));
  };
  clock_.wait_until(changed_, lock, clock_.now() + deadline, settled);
  const auto outcome = found();
  if (outcome == outcomes_.end()) return std::nullopt;
  auto result = std::move(*outcome);
  outcomes_.erase(outcome);
  return result;
}

int Compiler::pending() const {
  const std::lock_guard guard(mutex_);
  return static_cast<int>(waiting_.size()) + (running_.empty() ? 0 : 1);
}

bool Compiler::next(CompileRequest& request) {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] { return stopping_ || !waiting_.empty(); });
  if (stopping_) return false;
  request = std::move(waiting_.front());
  waiting_.pop_front();
  running_ = request.key;
  abandon_running_ = false;
  return true;
}

void Compiler::run() {
  CompileRequest request;
  while (next(request)) {
    CompileOutcome outcome;
    try {
      outcome = compile(request);
    } catch (const std::exception& error) {
      worker_.stop();
      outcome = ended(request, CompileFailure::kCrashed, error.what());
    }
    stage_ = CompileStage::kIdle;
    const std::lock_guard guard(mutex_);
    running_.clear();
    outcomes_.push_back(std::move(outcome));
    changed_.notify_all();
  }
  worker_.stop();
  const std::lock_guard guard(mutex_);
  for (const auto& left : waiting_) outcomes_.push_back(ended(left, CompileFailure::kCancelled, "the run ended"));
  waiting_.clear();
}

CompileOutcome Compiler::ended(const CompileRequest& request, CompileFailure failure, std::string reason) const {
  CompileOutcome outcome;
  outcome.key = request.key;
  outcome.effort = request.effort;
  outcome.recipe = request.recipe;
  outcome.failure = failure;
  outcome.reason = std::move(reason);
  return outcome;
}

bool Compiler::is_abandoned(const std::string& key) {
  const std::lock_guard guard(mutex_);
  return stopping_ || (running_ == key && abandon_running_);
}

// False if somebody wants this thread's attention before.
bool Compiler::pause(base::Duration length) {
  std::unique_lock lock(mutex_);
  return !clock_.wait_until(changed_, lock, clock_.now() + length, [&] { return stopping_ || abandon_running_; });
}

CompileOutcome Compiler::compile(const CompileRequest& request) {
  std::optional<CompileLock> lock;  // until the package is in the cache
  if (auto outcome = await_lock(request, lock)) return *outcome;
  if (auto outcome = compiled_elsewhere(request)) return *outcome;
  return compile_here(request);
}

// Nothing: the lock is held.
std::optional<CompileOutcome> Compiler::await_lock(const CompileRequest& request, std::optional<CompileLock>& lock) {
  const CompileRank rank = rank_of(request.effort, settings_.priority);
  // As long as the other process may take: its worker's start comes before the compilation.
  const auto longest = settings_.start_deadline + settings_.wall_deadline;
  const auto deadline = clock_.now() + longest;
  try {
    storage::ensure_folder(cache_.files(), cache_.folder());
    while (!lock) {
      if (auto taken = CompileLock::try_take(cache_.folder(), request.key, rank)) {
        lock.emplace(std::move(*taken));
        break;
      }
      stage_ = CompileStage::kOtherProcess;
      if (clock_.now() >= deadline) {
        return ended(request, CompileFailure::kTimeout,
                     "another process has been compiling the program for " + base::to_string(longest));
      }
      if (!pause(kCompileLockPoll)) return ended(request, CompileFailure::kCancelled, "cancelled");
    }
  } catch (const base::IoError& error) {
    return ended(request, failure_of(error), reason_and_way_out(error));
  }
  return std::nullopt;
}

// Since the cache was last asked.
std::optional<CompileOutcome> Compiler::compiled_elsewhere(const CompileRequest& request) {
  const auto facts = cache_.facts(request.key);
  if (!facts) return std::nullopt;
  if (request.effort == CompileEffort::kFull && !has_effort(*facts, CompileEffort::kFull)) return std::nullopt;
  return by_other_process(request, *facts);
}

CompileOutcome Compiler::by_other_process(const CompileRequest& request, const PackageFacts& facts) const {
  CompileOutcome outcome = ended(request, {}, {});
  outcome.failure.reset();
  outcome.by_other_process = true;
  outcome.compile_ms = facts.compile_ms;
  outcome.compiler = facts.compiler;
  return outcome;
}

CompileOutcome Compiler::compile_here(const CompileRequest& request) {
  if (unavailable_) return ended(request, *unavailable_->failure, unavailable_->reason);
  // A worker that dies under a request costs it one try: it gets one more, with a new worker.
  for (int crashes = 1;; ++crashes) {
    const WorkerAnswer answer = attempt(request);
    if (answer.kind != WorkerAnswer::Kind::kDied) return accept(request, answer);
    const std::string reason = "the compile worker exited (" + answer.reason + ")";
    if (restarts_ >= settings_.max_restarts) {
      unavailable_ = ended(request, CompileFailure::kCrashed, reason + "; the restart limit is reached");
      return *unavailable_;
    }
    const auto length = settings_.restart_pause * (1 << std::min(restarts_, 10));
    ++restarts_;
    if (!pause(length)) return ended(request, CompileFailure::kCancelled, "cancelled");
    if (crashes == 2) return ended(request, CompileFailure::kCrashed, reason + " twice at this program");
  }
}

WorkerAnswer Compiler::attempt(const CompileRequest& request) {
  const Interrupt interrupt = {wake_pipe_.descriptor(), [&] {
                                 wake_pipe_.drain();
                                 return is_abandoned(request.key);
                               }};
  if (interrupt.wanted())
    return {WorkerAnswer::Kind::kFailed, CompileFailure::kCancelled, "cancelled", {}, {}, 0, {}, {}};
  if (!worker_.is_running()) {
    if (auto refusal = make_worker_folder()) return *refusal;
    auto started = worker_.start(interrupt);
    if (started.kind != WorkerAnswer::Kind::kDone) return started;
  }
  return worker_.compile(request, interrupt);
}

// Nothing: it is there, and it is this user's alone.
std::optional<WorkerAnswer> Compiler::make_worker_folder() {
  try {
    storage::ensure_folder(cache_.files(), cache_.folder() + "/worker");
    return std::nullopt;
  } catch (const base::IoError& error) {
    return WorkerAnswer{
        WorkerAnswer::Kind::kUnavailable, failure_of(error), reason_and_way_out(error), {}, {}, 0, {}, {}};
  }
}

CompileOutcome Compiler::accept(const CompileRequest& request, const WorkerAnswer& answer) {
  CompileOutcome outcome = ended(request, answer.failure, answer.reason);
  outcome.compile_ms = answer.ms;
  outcome.compiler = answer.compiler;
  outcome.stage_ms = answer.stage_ms;
  outcome.not_used = answer.not_used;
  if (answer.kind == WorkerAnswer::Kind::kUnavailable) unavailable_ = outcome;
  if (answer.kind != WorkerAnswer::Kind::kDone) return outcome;
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
    auto theirs = by_other_process(request, *stored.kept);
    theirs.not_used = answer.not_used;
    return theirs;
  }
  outcome.failure.reset();
  if (stored.failure) {
    outcome.failure =
        stored.failure == InsertFailure::kNoSpace ? CompileFailure::kDiskFull : CompileFailure::kCacheRefused;
    outcome.reason = stored.reason;
  }
  return outcome;
}

}  // namespace esper::program
