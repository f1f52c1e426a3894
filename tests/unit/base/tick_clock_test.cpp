#include "base/ledger/tick_clock.h"

#include <catch2/catch_test_macros.hpp>
#include <chrono>

namespace esper::base::tick_clock_test {

using std::chrono::milliseconds;
using std::chrono::nanoseconds;

TEST_CASE("on a manual clock a tick is a nanosecond, calibrated or not") {
  const auto time = std::make_shared<ManualTime>();
  time->advance(nanoseconds(7));
  TickClock clock{Clock(time)};
  CHECK(clock.made_at() == nanoseconds(7));
  CHECK(clock.made_ticks() == 7);
  CHECK(clock.ns_per_tick(clock.read(), clock.now()) == 1);  // nothing has passed
  time->advance(nanoseconds(1000));
  CHECK(clock.since_made(clock.read()) == nanoseconds(1000));
  clock.calibrate(clock.read(), clock.now());
  CHECK(clock.ns_per_tick() == 1);
  CHECK(clock.since_made(clock.read()) == nanoseconds(1000));
}

TEST_CASE("a calibration makes ticks agree with the clock; without time or ticks it changes nothing") {
  TickClock clock{Clock()};
  const auto ticks = clock.made_ticks() + 1000;
  clock.calibrate(ticks, clock.made_at() + nanoseconds(400));
  CHECK(clock.since_made(ticks) == nanoseconds(400));
  CHECK(clock.since_made(ticks + 1000) == nanoseconds(800));
  CHECK(clock.since_made(clock.made_ticks() - 1) == nanoseconds(0));
  clock.calibrate(ticks, clock.made_at());
  clock.calibrate(clock.made_ticks(), clock.made_at() + milliseconds(1));
  CHECK(clock.since_made(ticks) == nanoseconds(400));
  // What has passed since it was made, and no calibration in between, decides.
  CHECK(clock.ns_per_tick(ticks, clock.made_at() + nanoseconds(500)) == 0.5);
  CHECK(clock.ns_per_tick() == 0.4);
}

}  // namespace esper::base::tick_clock_test
