#include "esper/bench_daemon/task_spooler.h"

#include <sys/stat.h>

#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <string>

#include "base/error.h"
#include "support/environment_variable.h"
#include "support/temporary_folder.h"

namespace esper::test::task_spooler_test {

using Catch::Matchers::ContainsSubstring;
using Catch::Matchers::EndsWith;
using Catch::Matchers::StartsWith;
using namespace std::chrono_literals;

namespace {

// This script is the only program `tsp` there is.
struct OnlySpooler {
  const TemporaryFolder folder;
  const EnvironmentVariable path{"PATH", folder.path()};

  explicit OnlySpooler(const std::string& script, mode_t permissions = 0700) {
    std::ofstream(folder / "tsp") << "#!/bin/sh\n" << script << "\n";
    REQUIRE(::chmod((folder / "tsp").c_str(), permissions) == 0);
  }
};

std::string why_absent_with(const std::string& script, mode_t permissions = 0700, base::Duration end_time = 60s) {
  const OnlySpooler only(script, permissions);
  return TaskSpooler(only.folder.path(), end_time).why_absent();
}

// The text of the lack of resources with which a command is refused; empty where it was queued.
std::string why_not_queued(const TaskSpooler& spooler) {
  try {
    spooler.queue({"true"});
  } catch (const base::Error& error) {
    CHECK(error.code() == base::ExitCode::kResources);
    return error.what();
  }
  return {};
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
             StartsWith("task-spooler does not run (") && ContainsSubstring("does not exit"));
}

TEST_CASE("a task-spooler that does not end when it is asked is a lack of resources, with the way out") {
  const OnlySpooler only("[ \"$1\" = -V ] || { exec >&-; exec /bin/sleep 600; }");
  const TaskSpooler spooler(only.folder.path(), 2s);
  REQUIRE(spooler.is_here());
  CHECK_THAT(why_not_queued(spooler),
             StartsWith("tsp has closed its output and does not exit") &&
                 EndsWith("; the measurement ends: try again, when this machine has less to do"));
}

TEST_CASE("a task-spooler that is gone when it is asked is named, without the advice to wait") {
  const OnlySpooler only("exit 0");
  const TaskSpooler spooler(only.folder.path());
  REQUIRE(spooler.is_here());
  std::filesystem::remove(only.folder / "tsp");
  CHECK_THAT(why_not_queued(spooler), StartsWith("cannot start tsp: No such file or directory") &&
                                          EndsWith("; the measurement ends: it needs tsp"));
}

}  // namespace esper::test::task_spooler_test
