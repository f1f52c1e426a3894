#include "jobs/queue/delayed_call.h"

#include <catch2/catch_test_macros.hpp>
#include <chrono>
#include <functional>
#include <memory>
#include <thread>

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

TEST_CASE("a function whose time has come is not called where it is cancelled, put off or destroyed just before") {
  boost::asio::io_context loop;
  int calls = 0, wanted = 0;
  auto call = std::make_unique<jobs::DelayedCall>(loop, 5ms, [&] { ++calls; });
  std::function<void()> act;
  SECTION("cancelled") {
    act = [&] { call->cancel(); };
  }
  SECTION("put off") {
    act = [&] { call->start(); };
    wanted = 1;
  }
  SECTION("destroyed") {
    act = [&] { call.reset(); };
  }
  jobs::DelayedCall before(loop, 5ms, [&] {
    act();
    CHECK(calls == 0);
  });
  before.start();
  call->start();
  std::this_thread::sleep_for(20ms);  // the handlers of both are queued at once
  loop.run();
  CHECK(calls == wanted);
}

}  // namespace esper::test::delayed_call_test
