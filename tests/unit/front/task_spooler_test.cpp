#include "esper/bench_daemon/task_spooler.h"

#include <sys/stat.h>

#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <chrono>
#include <fstream>
#include <string>

#include "support/environment_variable.h"
#include "support/temporary_folder.h"

namespace esper::test::task_spooler_test {

using Catch::Matchers::ContainsSubstring;
using Catch::Matchers::StartsWith;
using namespace std::chrono_literals;

namespace {

// With this script as the only program `tsp` there is.
std::string why_absent_with(const std::string& script, mode_t permissions = 0700, base::Duration end_time = 60s) {
  const TemporaryFolder folder;
  const EnvironmentVariable path("PATH", folder.path());
  std::ofstream(folder / "tsp") << "#!/bin/sh\n" << script << "\n";
  REQUIRE(::chmod((folder / "tsp").c_str(), permissions) == 0);
  return TaskSpooler(folder.path(), end_time).why_absent();
}

}  // namespace

TEST_CASE("a task-spooler that is not installed is told from one that does not run") {
  const TemporaryFolder folder;
  const EnvironmentVariable path("PATH", folder.path());
  CHECK(TaskSpooler(folder.path()).why_absent() == "task-spooler is not installed");
  CHECK(why_absent_with("exit 0").empty());
  CHECK(why_absent_with("exit 3") == "task-spooler does not run (tsp -V: exit code 3)");
  CHECK_THAT(why_absent_with("exit 0", 0600),
             StartsWith("task-spooler does not run (") && ContainsSubstring("Permission denied"));
  CHECK_THAT(why_absent_with("exec >&-; exec /bin/sleep 600", 0700, 50ms),
             StartsWith("task-spooler does not run (") && ContainsSubstring("does not end"));
}

}  // namespace esper::test::task_spooler_test
