#include "jobs/queue/delayed_call.h"

#include <catch2/catch_test_macros.hpp>
#include <chrono>

namespace esper::test::delayed_call_test {

using namespace esper;
using namespace std::chrono_literals;

TEST_CASE("the loop calls a function once, a while after it was started last, and again if the function starts it") {
  boost::asio::io_context loop;
  int calls = 0;
  jobs::DelayedCall call(loop, 20ms, [&] {
    if (++calls == 1) call.start();
  });
  CHECK(loop.run() == 0);
  loop.restart();
  const auto begin = std::chrono::steady_clock::now();
  call.start();
  call.start();
  CHECK(calls == 0);
  loop.run();  // returns when no timer is left
  CHECK(calls == 2);
  CHECK(std::chrono::steady_clock::now() - begin >= 40ms);
}

TEST_CASE("a function that is cancelled is not called, and does not keep the loop waiting") {
  boost::asio::io_context loop;
  int calls = 0;
  jobs::DelayedCall call(loop, 1h, [&] { ++calls; });
  call.start();
  call.cancel();
  loop.run();
  CHECK(calls == 0);
}

}  // namespace esper::test::delayed_call_test
