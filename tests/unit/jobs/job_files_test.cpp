#include "jobs/process/job_files.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <catch2/catch_test_macros.hpp>
#include <cerrno>
#include <chrono>
#include <exception>
#include <filesystem>
#include <fstream>
#include <thread>
#include <utility>

#include "base/text/child_process.h"
#include "jobs/process/shim.h"
#include "support/child_end.h"
#include "support/comes_true.h"
#include "support/temporary_folder.h"

namespace esper::test::job_files_test {

using namespace esper::jobs;

namespace {

bool appears(const std::string& path) {
  return comes_true([&] { return std::filesystem::exists(path); });
}

void write_attempt(const JobFolder& job, const std::string& script) {
  write_record(job.attempt(), esper::base::to_json(AttemptRecord{.attempt = 1,
                                                                 .command = {"/bin/sh", "-c", script},
                                                                 .environment = {"PATH=/usr/bin:/bin"},
                                                                 .folder = job.path}));
}

// In place of the job's lock and FIFO.
void open_files_of_shim() {
  const int nothing = ::open("/dev/null", O_RDWR);
  for (const int number : {kShimLock, kShimAlive}) ::dup2(nothing, number);
}

// The shim of a job, as a process of its own in which no file can grow, as on a full disk.
class ShimWithoutRoom {
 public:
  explicit ShimWithoutRoom(const JobFolder& job) : process_(::fork()) {
    if (process_ == 0) run(job);
  }
  ~ShimWithoutRoom() {
    if (process_ <= 0) return;
    ::kill(process_, SIGKILL);
    ::waitpid(process_, nullptr, 0);
  }
  ShimWithoutRoom(const ShimWithoutRoom&) = delete;
  ShimWithoutRoom& operator=(const ShimWithoutRoom&) = delete;

  void send(int signal) const { REQUIRE(::kill(process_, signal) == 0); }
  // From here on files can grow. Its exit status.
  int end_with_room() {
    let_files_grow(process_, true);
    int status = -1;
    REQUIRE(::waitpid(process_, &status, 0) == process_);
    process_ = -1;
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  }

 private:
  static void let_files_grow(pid_t process, bool may_grow) {
    struct rlimit limit{};
    ::prlimit(process, RLIMIT_FSIZE, nullptr, &limit);
    limit.rlim_cur = may_grow ? limit.rlim_max : 0;
    ::prlimit(process, RLIMIT_FSIZE, &limit, nullptr);
  }

  [[noreturn]] static void run(const JobFolder& job) {
    let_files_grow(::getpid(), false);
    ::signal(SIGXFSZ, SIG_IGN);  // as the program's own start does
    open_files_of_shim();
    int status = 99;
    try {
      status = run_shim(job);
    } catch (const std::exception&) {  // a status that the test does not expect
    }
    ::_exit(status);
  }

  pid_t process_;
};

}  // namespace

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

TEST_CASE("a record of another version, with fields that are not known, is read") {
  const esper::test::TemporaryFolder folder;
  const JobFolder job{folder.path()};
  std::ofstream(job.exit()) << R"({"attempt":3,"exit_code":6,"signal":0,"problem":"","cpu_s":1.5,"peak_bytes":77})";
  REQUIRE(read_exit(job, 3));
  CHECK(read_exit(job, 3)->exit_code == 6);
  CHECK(read_exit(job, 3)->peak_bytes == 77);
  std::ofstream(job.exit()) << "[3]";
  CHECK(!read_exit(job, 3));
}

TEST_CASE("records of an earlier attempt are removed, whether they are there or not") {
  const esper::test::TemporaryFolder folder;
  const JobFolder job{folder.path()};
  remove_records(job);
  write_record(job.attempt(), esper::base::to_json(AttemptRecord{.attempt = 1}));
  write_record(job.process(), esper::base::to_json(ProcessRecord{.attempt = 1}));
  write_record(job.exit(), esper::base::to_json(ExitRecord{.attempt = 1}));
  remove_records(job);
  CHECK(!read_process(job, 1));
  CHECK(!read_exit(job, 1));
  CHECK(read_attempt(job));
}

TEST_CASE("the FIFO reads as ended when the last process that has it open for writing has closed it") {
  const esper::test::TemporaryFolder folder;
  const JobFolder job{folder.path()};
  const auto has_ended = [](const esper::base::Descriptor& reading) {
    pollfd waiting{reading.number(), POLLIN, 0};
    REQUIRE(::poll(&waiting, 1, 0) >= 0);
    return (waiting.revents & POLLHUP) != 0;
  };
  const auto reading = open_alive(job, O_RDONLY | O_NONBLOCK);
  auto writing = open_alive(job, O_WRONLY);
  CHECK(!has_ended(reading));
  writing.reset();
  CHECK(has_ended(reading));
}

TEST_CASE("on a full disk the shim passes requests on to its trainer, and writes its records when there is room") {
  const esper::test::TemporaryFolder folder;
  const JobFolder job{folder.path()};
  const std::string script = "trap ': > ended; exit 7' TERM; : > begun; while :; do sleep 0.05; done";
  write_attempt(job, script);
  ShimWithoutRoom shim(job);
  REQUIRE(appears(folder / "begun"));
  SECTION("to stop") {
    shim.send(kShimStop);
    REQUIRE(appears(folder / "ended"));
    CHECK(!read_process(job, 1));
    CHECK(!read_exit(job, 1));
    CHECK(shim.end_with_room() == 0);
    REQUIRE(read_exit(job, 1));
    CHECK(read_exit(job, 1)->exit_code == 7);
  }
  SECTION("to kill") {
    shim.send(kShimKill);
    CHECK(shim.end_with_room() == 0);
    REQUIRE(read_exit(job, 1));
    CHECK(read_exit(job, 1)->signal == SIGKILL);
  }
}

TEST_CASE("a request to stop that is repeated, as by the next daemon, does not reach the trainer again") {
  const esper::test::TemporaryFolder folder;
  const JobFolder job{folder.path()};
  const std::string script =
      "trap 'test -e once && : > twice; : > once' TERM; : > begun; until test -e saved; do sleep 0.05; done; exit 7";
  write_attempt(job, script);
  ShimWithoutRoom shim(job);
  REQUIRE(appears(folder / "begun"));
  shim.send(kShimStop);
  REQUIRE(appears(folder / "once"));
  shim.send(kShimStop);
  std::this_thread::sleep_for(std::chrono::milliseconds(500));  // for a signal that would come
  std::ofstream(folder / "saved").flush();
  CHECK(shim.end_with_room() == 0);
  CHECK(!std::filesystem::exists(folder / "twice"));
  REQUIRE(read_exit(job, 1));
  CHECK(read_exit(job, 1)->exit_code == 7);
}

TEST_CASE("the shim records why its trainer could not be started") {
  const esper::test::TemporaryFolder folder;
  const JobFolder job{folder.path()};
  write_record(job.attempt(),
               esper::base::to_json(AttemptRecord{
                   .attempt = 1, .command = {folder / "no-esper"}, .environment = {}, .folder = folder.path()}));
  const auto end = end_of_child([&] {
    open_files_of_shim();
    run_shim(job);
  });
  CHECK(end.status == 0);
  REQUIRE(read_exit(job, 1));
  CHECK(read_exit(job, 1)->error == ENOENT);
  CHECK(read_exit(job, 1)->problem.starts_with("cannot start "));
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

}  // namespace esper::test::job_files_test
