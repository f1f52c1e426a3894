#include "drill/stop.h"

#include <signal.h>

#include <atomic>

#include "base/error.h"

namespace esper::drill {
namespace {

std::atomic<int> received{0};
static_assert(std::atomic<int>::is_always_lock_free, "a signal handler stores it");

void remember(int signal) { received.store(signal, std::memory_order_relaxed); }

base::ExitCode exit_code_of(int signal) {
  if (signal == SIGTERM) return base::ExitCode::kTerminated;
  return signal == SIGHUP ? base::ExitCode::kHungUp : base::ExitCode::kInterrupted;
}

}  // namespace

Stop::Stop() : signals_(remember) { received.store(0, std::memory_order_relaxed); }

bool Stop::is_asked() { return received.load(std::memory_order_relaxed) != 0; }

void Stop::check() {
  if (const int signal = received.load(std::memory_order_relaxed); signal != 0)
    throw base::Error(exit_code_of(signal), "interrupted; its trainings were ended");
}

}  // namespace esper::drill
