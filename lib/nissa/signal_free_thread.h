#pragma once
// A thread that takes no signals: SIGINT and SIGTERM stay with the main thread, and a write to a closed pipe gives
// EPIPE.

#include <pthread.h>
#include <signal.h>

#include <thread>
#include <utility>

namespace esper::nissa {

template <class Function>
std::thread start_signal_free_thread(Function&& function) {
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);  // a new thread starts with its maker's mask
  struct Restore {
    const sigset_t& mask;
    ~Restore() { pthread_sigmask(SIG_SETMASK, &mask, nullptr); }
  } restore{before};
  return std::thread(std::forward<Function>(function));
}

}  // namespace esper::nissa
