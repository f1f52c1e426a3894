#include "base/exit_deadline.h"

#include <sys/wait.h>
#include <unistd.h>

#include <catch2/catch_test_macros.hpp>
#include <mutex>
#include <thread>

#include "support/child_end.h"

namespace esper::test::exit_deadline_test {

TEST_CASE("a process that waits for a thread that hangs ends at its deadline, with its status and the text") {
  const auto end = end_of_child([] {
    base::end_within(std::chrono::milliseconds(50), 6, "it is left behind\n");
    std::thread([] { pause(); }).join();
  });
  REQUIRE(WIFEXITED(end.status));
  CHECK(WEXITSTATUS(end.status) == 6);
  CHECK(end.text == "it is left behind\n");
}

TEST_CASE("a deadline that was lifted ends nothing") {
  const auto end = end_of_child([] {
    const auto lift = base::end_within(std::chrono::milliseconds(50), 6, "it is left behind\n");
    lift();
    std::this_thread::sleep_for(std::chrono::milliseconds(150));
  });
  REQUIRE(WIFEXITED(end.status));
  CHECK(WEXITSTATUS(end.status) == 0);
  CHECK(end.text.empty());
}

TEST_CASE("one that ends before keeps its own status, and prints nothing") {
  const auto end = end_of_child([] { base::end_within(std::chrono::hours(1), 6, "it is left behind\n"); });
  REQUIRE(WIFEXITED(end.status));
  CHECK(WEXITSTATUS(end.status) == 0);
  CHECK(end.text.empty());
}

}  // namespace esper::test::exit_deadline_test
