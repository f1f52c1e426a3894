#include "program/compile/worker_process.h"

#include <fcntl.h>
#include <signal.h>

#include <catch2/catch_test_macros.hpp>
#include <thread>

#include "unit/program_compile/worker_fixture.h"

namespace esper::program::worker_process_test {

using std::chrono::milliseconds;

TEST_CASE("a process that does not answer is not waited for longer than told") {
  WorkerProcess process({test_python(), "import time; time.sleep(6000)", {}, {}});
  std::string line;
  CHECK(process.read_line(line, milliseconds(50), -1) == WorkerProcess::Read::kTimeout);
  const auto groups = worker_groups();
  REQUIRE(groups.size() == 1);
  process.kill();
  CHECK(process.end() == "signal 9");
  CHECK(group_is_gone(groups[0]));
}

TEST_CASE("the end of a process is told from its silence") {
  WorkerProcess process({test_python(), "print('one', flush=True)", {}, {}});
  std::string line;
  REQUIRE(process.read_line(line, test::kPatience, -1) == WorkerProcess::Read::kLine);
  CHECK(line == "one");
  CHECK(process.read_line(line, test::kPatience, -1) == WorkerProcess::Read::kEnd);
  process.kill();
  CHECK(process.end() == "exit status 0");
}

TEST_CASE("a worker does not stand in the folder of the process that starts it") {
  WorkerProcess process({test_python(), "import os, sys; print(os.getcwd(), sys.flags.isolated)", {}, {}});
  std::string line;
  REQUIRE(process.read_line(line, test::kPatience, -1) == WorkerProcess::Read::kLine);
  CHECK(line == "/ 1");
}

TEST_CASE("a worker has none of the files that the process which starts it leaves to its children") {
  const base::Descriptor left(::fcntl(base::Descriptor(::open("/dev/null", O_RDONLY)).number(), F_DUPFD, 50));
  REQUIRE(left.is_open());
  WorkerProcess process(
      {test_python(), "import os; print([n for n in os.listdir('/proc/self/fd') if int(n) >= 50])", {}, {}});
  std::string line;
  REQUIRE(process.read_line(line, test::kPatience, -1) == WorkerProcess::Read::kLine);
  CHECK(line == "[]");
}

TEST_CASE("the environment of a worker is what it was given, and nothing else") {
  ::setenv("ESPER_STRAY", "1", 1);
  WorkerProcess process(
      {test_python(), "import os; print(sorted(os.environ), os.listdir('/proc/self/fd'))", {}, {{"A", "1"}}});
  ::unsetenv("ESPER_STRAY");
  std::string line;
  REQUIRE(process.read_line(line, test::kPatience, -1) == WorkerProcess::Read::kLine);
  INFO(line);
  CHECK(line.find("'A'") != std::string::npos);
  CHECK(line.find("ESPER_STRAY") == std::string::npos);
}

}  // namespace esper::program::worker_process_test
