#include "esper/bench_daemon/timed_command.h"

#include <signal.h>
#include <sys/wait.h>

#include <catch2/catch_test_macros.hpp>
#include <cerrno>
#include <chrono>
#include <system_error>

namespace esper::test::timed_command_test {

using namespace std::chrono_literals;

TEST_CASE("a command is timed from its start to its end, with its output and its end") {
  const auto timed = time_command({"sh", "-c", "echo said; sleep 0.05; exit 3"});
  CHECK(timed.seconds >= 0.05);
  CHECK(timed.output == "said\n");
  CHECK(timed.exit_code == 3);
  CHECK(time_command({"sh", "-c", "kill -TERM $$"}).exit_code == 128 + SIGTERM);
}

TEST_CASE("a command that closes its output and does not end is killed") {
  try {
    time_command({"sh", "-c", "exec >&-; sleep 600"}, {}, 50ms);
    FAIL("it has ended");
  } catch (const std::system_error& error) {
    CHECK(error.code().value() == ETIMEDOUT);
  }
  CHECK(::waitpid(-1, nullptr, WNOHANG) < 0);  // no child is left
}

}  // namespace esper::test::timed_command_test
