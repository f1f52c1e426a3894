#include "tolaria/interrupt.h"

#include <signal.h>
#include <unistd.h>

#include <atomic>

namespace esper::tolaria {
namespace {

std::atomic<int> requested_signal{0};
std::atomic<bool> has_state_to_save{false};
static_assert(std::atomic<int>::is_always_lock_free && std::atomic<bool>::is_always_lock_free);

void on_signal(int signal) {
  const int earlier = requested_signal.exchange(signal);
  if (earlier != 0 || !has_state_to_save) _exit(128 + signal);
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
