#include "program/cache/change_lock.h"

#include <catch2/catch_test_macros.hpp>
#include <chrono>
#include <future>
#include <memory>

#include "base/clock.h"
#include "support/faults/faulty_file_system.h"
#include "support/patience.h"

namespace esper::program::change_lock_test {

TEST_CASE("a lock that another thread of the process has is waited for only until the deadline") {
  test::FaultyFileSystem files;
  files.make_folder("/cache");
  const auto time = std::make_shared<base::ManualTime>();
  ChangeLock lock(files, "/cache", std::chrono::milliseconds(50), base::Clock(time));
  auto held = lock.take();
  REQUIRE(held);
  auto other = std::async(std::launch::async, [&] { return lock.take().has_value(); });
  const bool returned = other.wait_for(test::kPatience) == std::future_status::ready;
  CHECK(returned);
  CHECK(time->now() >= std::chrono::milliseconds(50));
  held.reset();
  CHECK(other.get() != returned);
  CHECK(lock.take());
}

}  // namespace esper::program::change_lock_test
