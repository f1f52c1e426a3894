#include "jobs/process/job_files.h"

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <catch2/catch_test_macros.hpp>
#include <fstream>

#include "base/text/child_process.h"
#include "support/temporary_folder.h"

using namespace esper::jobs;

TEST_CASE("records are read back, of their attempt alone") {
  const esper::test::TemporaryFolder folder;
  const JobFolder job{folder.path()};
  write_record(job.exit(), esper::base::to_json(ExitRecord{.attempt = 3, .signal = 9, .peak_bytes = 77}));
  REQUIRE(read_exit(job, 3));
  CHECK(read_exit(job, 3)->signal == 9);
  CHECK(!read_exit(job, 3)->exit_code);
  CHECK(read_exit(job, 3)->peak_bytes == 77);
  CHECK(!read_exit(job, 2));
  CHECK(!read_attempt(job));
  std::ofstream(job.attempt()) << "{\"attempt\": 1, \"command\": 7}";
  CHECK(!read_attempt(job));
}

TEST_CASE("a process is known by more than its number") {
  const auto self = identity_of(::getpid());
  REQUIRE(self);
  CHECK(identity_of(::getpid()) == self);
  const pid_t child = esper::base::start_child({.command = {"sleep", "100"}, .files = {}});
  auto process = *identity_of(child);
  ProcessIdentity other = process;
  ++other.started;
  CHECK(!send_signal(other, SIGKILL, SignalTarget::kProcess));
  other = process;
  other.boot = "another";
  CHECK(!send_signal(other, SIGKILL, SignalTarget::kGroup));
  REQUIRE(identity_of(child) == process);
  CHECK(send_signal(process, SIGKILL, SignalTarget::kProcess));
  int status = 0;
  REQUIRE(::waitpid(child, &status, 0) == child);
  CHECK(WTERMSIG(status) == SIGKILL);
  CHECK(!send_signal(process, SIGKILL, SignalTarget::kProcess));
}

TEST_CASE("the lock is held once, and by the processes that were given it") {
  const esper::test::TemporaryFolder folder;
  const JobFolder job{folder.path()};
  auto lock = try_lock(job);
  REQUIRE(lock.is_open());
  CHECK(!try_lock(job).is_open());
  const pid_t child = esper::base::start_child({.command = {"sleep", "100"}, .files = {{3, lock.number()}}});
  lock.reset();
  CHECK(!try_lock(job).is_open());
  ::kill(child, SIGKILL);
  REQUIRE(::waitpid(child, nullptr, 0) == child);
  CHECK(try_lock(job).is_open());
}
