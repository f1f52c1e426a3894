#include "program/compile/compiler.h"

#include <signal.h>

#include <utility>

#include "base/error.h"
#include "base/exit_deadline.h"

namespace esper::program {

Compiler::Compiler(CompilerSettings settings, PackageCache& cache)
    : end_deadline_(settings.end_deadline), maker_(std::move(settings), cache, stage_) {}

Compiler::~Compiler() {
  {
    const std::lock_guard guard(mutex_);
    stopping_ = true;
  }
  wake_pipe_.wake();
  changed_.notify_all();
  if (!thread_.joinable()) return;
  const auto lift = base::end_within(end_deadline_, static_cast<int>(base::ExitCode::kTryAgain),
                                     "esper: the compiler's thread does not end; exiting without it; is the disk of "
                                     "the cache of compiled programs gone?\n");
  thread_.join();
  lift();
}

void Compiler::submit(CompileRequest request) {
  const std::lock_guard guard(mutex_);
  requests_.submit(std::move(request));
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
  requests_.cancel(key);
  wake_pipe_.wake();
  changed_.notify_all();
}

std::optional<CompileOutcome> Compiler::poll(const std::string& key) {
  const std::lock_guard guard(mutex_);
  return requests_.take(key);
}

std::optional<CompileOutcome> Compiler::wait(const std::string& key, base::Duration deadline) {
  const base::Clock clock;
  std::unique_lock lock(mutex_);
  clock.wait_until(changed_, lock, clock.now() + deadline, [&] { return requests_.is_settled(key); });
  return requests_.take(key);
}

int Compiler::pending() const {
  const std::lock_guard guard(mutex_);
  return requests_.pending();
}

std::optional<CompileRequest> Compiler::next() {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] { return stopping_ || requests_.has_waiting(); });
  if (stopping_) return std::nullopt;
  return requests_.start_next();
}

void Compiler::run() {
  const Interrupt interrupt = {wake_pipe_.descriptor(), [this] {
                                 wake_pipe_.drain();
                                 const std::lock_guard guard(mutex_);
                                 return stopping_ || requests_.is_abandoned();
                               }};
  while (const auto request = next()) {
    CompileOutcome outcome;
    try {
      outcome = maker_.make(*request, interrupt);
    } catch (const std::exception& error) {
      maker_.stop();
      outcome = failed_outcome(*request, CompileFailure::kCrashed, error.what());
    }
    stage_ = CompileStage::kIdle;
    const std::lock_guard guard(mutex_);
    requests_.finish(std::move(outcome));
    changed_.notify_all();
  }
  maker_.stop();
}

}  // namespace esper::program
