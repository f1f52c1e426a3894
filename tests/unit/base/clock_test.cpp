#include "base/clock.h"

#include <catch2/catch_test_macros.hpp>
#include <thread>

#include "support/patience.h"

namespace esper::test::clock_test {

using namespace esper::base;
using namespace std::chrono_literals;

TEST_CASE("the machine's clock goes forward and sleeps at least as long as asked") {
  const Clock clock;
  const Duration before = clock.now();
  clock.sleep(2ms);
  CHECK(clock.now() - before >= Duration(2ms));
  CHECK(clock.wall() > std::chrono::hours(24 * 365 * 50));
}

TEST_CASE("a manual clock stands still until it is moved") {
  const auto time = std::make_shared<ManualTime>(1000s);
  const Clock clock(time);
  CHECK(clock.now() == Duration(0));
  CHECK(clock.wall() == Duration(1000s));
  time->advance(5s);
  CHECK(clock.now() == Duration(5s));
  CHECK(clock.wall() == Duration(1005s));
}

TEST_CASE("sleeping on a manual clock moves it and takes no time") {
  const Clock clock(std::make_shared<ManualTime>());
  clock.sleep(24h);
  CHECK(clock.now() == Duration(24h));
}

TEST_CASE("a wait ends when what it waits for is there") {
  const Clock clock;
  std::mutex mutex;
  std::condition_variable signal;
  bool ready = false;
  std::thread other([&] {
    const std::lock_guard lock(mutex);
    ready = true;
    signal.notify_all();
  });
  std::unique_lock lock(mutex);
  CHECK(clock.wait_until(signal, lock, clock.now() + esper::test::kPatience, [&] { return ready; }));
  lock.unlock();
  other.join();
}

TEST_CASE("a wait ends at its deadline") {
  std::mutex mutex;
  std::condition_variable signal;
  std::unique_lock lock(mutex);
  SECTION("on the machine's clock") {
    const Clock clock;
    const Duration before = clock.now();
    CHECK_FALSE(clock.wait_until(signal, lock, before + 3ms, [] { return false; }));
    CHECK(clock.now() - before >= Duration(3ms));
  }
  SECTION("on a manual clock that another thread moves") {
    const auto time = std::make_shared<ManualTime>();
    const Clock clock(time);
    std::thread other([&] { time->advance(1h); });
    CHECK_FALSE(clock.wait_until(signal, lock, 1h, [] { return false; }));
    other.join();
  }
}

TEST_CASE("time stamps are RFC 3339 in UTC with microseconds") {
  CHECK(rfc3339(0s) == "1970-01-01T00:00:00.000000Z");
  CHECK(rfc3339(Duration(1'700'000'000'123'456'789)) == "2023-11-14T22:13:20.123456Z");
  CHECK(rfc3339(951782400s) == "2000-02-29T00:00:00.000000Z");
  CHECK(rfc3339(Duration(-1)) == "1969-12-31T23:59:59.999999Z");
}

}  // namespace esper::test::clock_test
