#include "program/compile/wake_pipe.h"

#include <atomic>
#include <catch2/catch_test_macros.hpp>
#include <thread>

#include "base/clock.h"
#include "support/patience.h"

namespace esper::program::wake_pipe_test {

using std::chrono::milliseconds;

TEST_CASE("a sleep lasts its time where nobody wants the thread, also when it was woken for nothing") {
  WakePipe pipe;
  const Interrupt interrupt = {pipe.descriptor(), [&] {
                                 pipe.drain();
                                 return false;
                               }};
  pipe.wake();
  const base::Clock clock;
  const auto begin = clock.now();
  CHECK(interruptible_sleep(milliseconds(20), interrupt));
  CHECK(clock.now() - begin >= milliseconds(20));
}

TEST_CASE("a sleep ends once it is woken by somebody who wants the thread") {
  WakePipe pipe;
  std::atomic<bool> wanted = false;
  const Interrupt interrupt = {pipe.descriptor(), [&] {
                                 pipe.drain();
                                 return wanted.load();
                               }};
  std::jthread waking([&] {
    base::Clock().sleep(milliseconds(20));
    wanted = true;
    pipe.wake();
  });
  const base::Clock clock;
  const auto begin = clock.now();
  CHECK_FALSE(interruptible_sleep(test::kPatience, interrupt));
  CHECK(clock.now() - begin < test::kPatience);
  CHECK_FALSE(interruptible_sleep(test::kPatience, interrupt));  // wanted already
}

}  // namespace esper::program::wake_pipe_test
