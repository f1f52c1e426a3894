#include "tolaria/interrupt.h"

#include <signal.h>
#include <time.h>
#include <unistd.h>

#include <atomic>
#include <cstdint>

namespace esper::tolaria {
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
  if (!has_state_to_save) _exit(128 + signal);
  const std::int64_t now = now_ms();
  std::int64_t first = 0;
  requested_at_ms.compare_exchange_strong(first, now);
  const int earlier = requested_signal.exchange(signal);
  if (earlier != 0 && now - requested_at_ms >= kOneRequestMs) _exit(128 + signal);
}

void set_handler(int signal, void (*handler)(int)) {
  struct sigaction action {};
  action.sa_handler = handler;
  action.sa_flags = SA_RESTART;
  sigaction(signal, &action, nullptr);
}

}  // namespace

Interrupt::Interrupt() {
  requested_signal = 0;
  requested_at_ms = 0;
  set_handler(SIGINT, on_signal);
  set_handler(SIGTERM, on_signal);
  set_handler(SIGPIPE, SIG_IGN);
}

Interrupt::~Interrupt() {
  set_handler(SIGINT, SIG_DFL);
  set_handler(SIGTERM, SIG_DFL);
  has_state_to_save = false;
  requested_signal = 0;
}

void Interrupt::begin_saving() { has_state_to_save = true; }

int Interrupt::requested() { return requested_signal.load(std::memory_order_relaxed); }

}  // namespace esper::tolaria
