#include "esper/queue/quit_on_interrupt.h"

#include <signal.h>
#include <unistd.h>

#include <utility>

namespace esper {
namespace {

struct Farewell {
  int descriptor = -1;
  std::string text;
};

// Not changed while the handlers are installed.
Farewell& current_farewell() {
  static Farewell farewell;
  return farewell;
}

void quit(int signal) {
  const auto& [descriptor, text] = current_farewell();
  // What cannot be written is of no use to anyone.
  [[maybe_unused]] const auto written = ::write(descriptor, text.data(), text.size());
  ::_exit(signal == SIGINT ? 0 : 128 + signal);
}

void (*with_farewell(Farewell farewell))(int) {
  current_farewell() = std::move(farewell);
  return quit;
}

}  // namespace

QuitOnInterrupt::QuitOnInterrupt(int descriptor, std::string farewell)
    : signals_(with_farewell({descriptor, std::move(farewell)})) {}
QuitOnInterrupt::~QuitOnInterrupt() = default;

}  // namespace esper
