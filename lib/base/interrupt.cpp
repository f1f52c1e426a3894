#include "base/interrupt.h"

#include <signal.h>
#include <time.h>
#include <unistd.h>

#include <atomic>
#include <cstdint>

namespace esper::base {
namespace {

std::atomic<int> requested_signal{0};
std::atomic<std::int64_t> requested_at_ms{0};
std::atomic<bool> has_state_to_save{false};
static_assert(std::atomic<int>::is_always_lock_free && std::atomic<std::int64_t>::is_always_lock_free &&
              std::atomic<bool>::is_always_lock_free);

// A tool that ends a process and then its group sends two signals at once: that is one request.
constexpr std::int64_t kOneRequestMs = 1000;

std::int64_t now_ms() {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return std::int64_t{now.tv_sec} * 1000 + now.tv_nsec / 1'000'000;
}

void on_signal(int signal) {
  const bool to_be_saved = has_state_to_save;
  const std::int64_t now = now_ms();
  std::int64_t first = 0;
  requested_at_ms.compare_exchange_strong(first, now);
  const bool is_first = requested_signal.exchange(signal) == 0;
  const bool same_request = !is_first && now - requested_at_ms < kOneRequestMs;
  if (!same_request && !(to_be_saved && is_first)) _exit(128 + signal);
}

}  // namespace

Interrupt::Interrupt() : signals_(on_signal) {
  requested_signal = 0;
  requested_at_ms = 0;
  signal(SIGPIPE, SIG_IGN);
}

Interrupt::~Interrupt() {
  has_state_to_save = false;
  requested_signal = 0;
}

void Interrupt::begin_saving() { has_state_to_save = true; }

void Interrupt::end_saving() { has_state_to_save = false; }

int Interrupt::requested() { return requested_signal.load(std::memory_order_relaxed); }

bool Interrupt::requested_for(std::chrono::nanoseconds time) {
  return requested() != 0 && std::chrono::milliseconds(now_ms() - requested_at_ms) >= time;
}

}  // namespace esper::base
