#include "base/signal_scope.h"

#include <catch2/catch_test_macros.hpp>
#include <csignal>

namespace esper::test::signal_scope_test {

using esper::base::SignalScope;

namespace {

volatile std::sig_atomic_t last_signal = 0;
void note(int signal) { last_signal = signal; }

void (*handler_of(int signal))(int) {
  struct sigaction action{};
  sigaction(signal, nullptr, &action);
  return action.sa_handler;
}

}  // namespace

TEST_CASE("interrupt, termination and hang-up reach the handler, and are given back") {
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) {
    const auto before = handler_of(signal);
    {
      const SignalScope scope(note);
      std::raise(signal);
      CHECK(last_signal == signal);
    }
    CHECK(handler_of(signal) == before);
  }
}

TEST_CASE("a hang-up that is ignored at the start stays ignored, as under nohup") {
  std::signal(SIGHUP, SIG_IGN);
  last_signal = 0;
  {
    const SignalScope scope(note);
    std::raise(SIGHUP);
    CHECK(last_signal == 0);
  }
  CHECK(handler_of(SIGHUP) == SIG_IGN);
  std::signal(SIGHUP, SIG_DFL);
}

}  // namespace esper::test::signal_scope_test
