#include "tolaria/safety/watchdog.h"

#include <atomic>
#include <catch2/catch_test_macros.hpp>
#include <functional>
#include <thread>

#include "support/patience.h"

namespace esper::test::watchdog_test {

using namespace esper::tolaria;
using namespace std::chrono_literals;

namespace {

bool eventually(const std::function<bool()>& condition) {
  const auto end = std::chrono::steady_clock::now() + kPatience;
  while (!condition() && std::chrono::steady_clock::now() < end) std::this_thread::sleep_for(2ms);
  return condition();
}

}  // namespace

TEST_CASE("a stall is told once, with its place, and again after progress") {
  leyline::Progress display;
  display.phase = leyline::Phase::kTraining;
  display.epoch = 3;
  std::atomic<int> stalls{0};
  Stall seen;
  {
    const Watchdog watchdog(display, base::Clock(), 40ms, [&](const Stall& stall) {
      if (stalls.load() == 0) seen = stall;
      ++stalls;
    });
    CHECK(eventually([&] { return stalls.load() == 1; }));
    std::this_thread::sleep_for(200ms);
    CHECK(stalls.load() == 1);
    display.step = 8;
    CHECK(eventually([&] { return stalls.load() == 2; }));
  }
  CHECK(seen.phase == leyline::Phase::kTraining);
  CHECK(seen.epoch == 3);
  CHECK(seen.step == 0);
  CHECK(seen.lasted >= 40ms);
}

TEST_CASE("a run that goes on, or has ended, does not stall; without a deadline nobody looks") {
  leyline::Progress display;
  display.phase = leyline::Phase::kTraining;
  std::atomic<int> stalls{0};
  const auto count = [&](const Stall&) { ++stalls; };
  {
    const Watchdog watchdog(display, base::Clock(), 2s, count);
    for (int step = 0; step < 30; ++step) {
      display.step = static_cast<std::uint64_t>(step);
      std::this_thread::sleep_for(5ms);
    }
  }
  display.phase = leyline::Phase::kDone;
  const Watchdog ended(display, base::Clock(), 10ms, count);
  const Watchdog off(display, base::Clock(), 0s, count);
  std::this_thread::sleep_for(100ms);
  CHECK(stalls.load() == 0);
}

}  // namespace esper::test::watchdog_test
