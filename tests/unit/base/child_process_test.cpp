#include "base/text/child_process.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <catch2/catch_test_macros.hpp>
#include <chrono>
#include <system_error>
#include <thread>
#include <utility>

#include "base/descriptor.h"
#include "base/text/line_channel.h"
#include "support/patience.h"
#include "support/process_end.h"
#include "support/temporary_folder.h"

namespace esper::base::child_process_test {
namespace {

using test::kPatience;

// How often it has waited so far.
long sleeps_of_this_thread() {
  rusage usage{};
  REQUIRE(::getrusage(RUSAGE_THREAD, &usage) == 0);
  return usage.ru_nvcsw;
}

// A shell with a channel as its output.
struct Shell {
  Descriptor theirs;
  LineChannel channel{theirs};
  pid_t child = -1;

  explicit Shell(const std::string& script, ChildPlan plan = {}) {
    plan.command = {"sh", "-c", script};
    plan.files.push_back({STDOUT_FILENO, theirs.number()});
    child = start_child(plan);
    theirs.reset();
  }
  ~Shell() { end_group(child, kPatience); }

  std::string line() {
    std::string text;
    return channel.read_line(text, kPatience) == LineChannel::Read::kLine ? text : "no line";
  }
};

struct Pipe {
  Descriptor read, write;
  Pipe() {
    std::array<int, 2> ends{};
    REQUIRE(::pipe2(ends.data(), O_CLOEXEC) == 0);
    read = Descriptor(ends[0]);
    write = Descriptor(ends[1]);
  }
  // What was written, or 0 where the writers are gone.
  char get() const {
    char got = 0;
    return ::read(read.number(), &got, 1) == 1 ? got : '\0';
  }
  void put(char what) const { [[maybe_unused]] const auto ignored = ::write(write.number(), &what, 1); }
};

// A child of this process that only a signal ends. Whoever asks may trace it.
pid_t idle_child() {
  const Pipe is_ready;
  const pid_t child = ::fork();
  REQUIRE(child >= 0);
  if (child == 0) {
    ::prctl(PR_SET_PTRACER, PR_SET_PTRACER_ANY, 0, 0, 0);
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    is_ready.put('.');
    while (true) ::pause();
  }
  is_ready.get();
  return child;
}

// Another process that traces a child of this one. While it lives, the child's end is kept from the parent.
class Tracer {
 public:
  explicit Tracer(pid_t child) {
    process_ = ::fork();
    REQUIRE(process_ >= 0);
    if (process_ == 0) {
      end_.write.reset();
      answer_.put(::ptrace(PTRACE_SEIZE, child, nullptr, nullptr) == 0 ? 'y' : 'n');
      end_.get();
      ::_exit(0);
    }
    end_.read.reset();
    traces_ = answer_.get() == 'y';
  }
  ~Tracer() { end(); }
  Tracer(const Tracer&) = delete;
  Tracer& operator=(const Tracer&) = delete;

  bool traces() const { return traces_; }
  void end() {
    if (process_ < 0) return;
    end_.write.reset();
    ::waitpid(std::exchange(process_, -1), nullptr, 0);
  }

 private:
  Pipe answer_, end_;
  pid_t process_ = -1;
  bool traces_ = false;
};

}  // namespace

TEST_CASE("a child leads a group of its own and has the descriptors that it was given, at their numbers") {
  int ends[2];
  REQUIRE(::pipe(ends) == 0);
  const Descriptor read(ends[0]);
  Descriptor write(ends[1]);
  REQUIRE(::write(write.number(), "secret\n", 7) == 7);
  write.reset();
  Shell shell("read text <&4; echo $text; read -r _ _ _ _ group _ </proc/$$/stat; echo $group; sleep 600",
              {.command = {}, .files = {{4, read.number()}}});
  CHECK(shell.line() == "secret");
  CHECK(shell.line() == std::to_string(shell.child));
}

TEST_CASE("a child has none of our other descriptors, whoever opened them") {
  const Descriptor low(::fcntl(STDERR_FILENO, F_DUPFD, 3));
  const Descriptor high(::fcntl(STDERR_FILENO, F_DUPFD, 50));
  Shell shell(fmt::format("for number in {} {}; do test -e /proc/$$/fd/$number && echo open; done; echo none",
                          low.number(), high.number()));
  CHECK(shell.line() == "none");
}

TEST_CASE("a child has the environment and the folder of its plan") {
  ::setenv("ESPER_STRAY", "1", 1);
  Shell given("echo \"$A-$ESPER_STRAY-$PWD\"", {.command = {},
                                                .files = {},
                                                .environment = std::vector<std::string>{"A=b", "PATH=/usr/bin:/bin"},
                                                .folder = "/"});
  Shell inherits("echo \"$ESPER_STRAY\"");
  ::unsetenv("ESPER_STRAY");
  CHECK(given.line() == "b--/");
  CHECK(inherits.line() == "1");
}

TEST_CASE("what cannot be started says why, and leaves nothing behind") {
  CHECK_THROWS_AS(start_child({.command = {"/no/such/program"}, .files = {}}), std::system_error);
  CHECK_THROWS_AS(start_child({.command = {}, .files = {}}), std::system_error);
  try {
    start_child({.command = {"esper-no-such-program"}, .files = {}});
    FAIL("it was started");
  } catch (const std::system_error& error) {
    CHECK(error.code().value() == ENOENT);
  }
  try {
    start_child({.command = {"true"}, .files = {}, .folder = "/no/such/folder"});
    FAIL("it was started");
  } catch (const std::system_error& error) {
    CHECK(std::string(error.what()).starts_with("cannot start true in /no/such/folder"));
  }
}

// Who opens the file waits for its lease, as for a disk that does not answer: for 45 s at most.
TEST_CASE("a program that does not start in time is given up, with its process") {
  const test::TemporaryFolder folder;
  const std::string program = folder / "program";
  const Descriptor file(::open(program.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0700));
  REQUIRE(::write(file.number(), "#!/bin/sh\n", 10) == 10);
  const auto before = ::signal(SIGIO, SIG_IGN);  // which the lease's holder gets
  if (::fcntl(file.number(), F_SETLEASE, F_WRLCK) != 0) SKIP("no leases on this file system");
  try {
    start_child({.command = {program}, .files = {}, .start_deadline = std::chrono::milliseconds(200)});
    FAIL("it was started");
  } catch (const std::system_error& error) {
    CHECK(error.code().value() == ETIMEDOUT);
    CHECK(std::string(error.what()).find(program) != std::string::npos);
  }
  CHECK(::waitpid(-1, nullptr, WNOHANG) < 0);  // no child is left
  ::signal(SIGIO, before);
}

TEST_CASE("how a child ended is waited for until a deadline") {
  const pid_t child = start_child({.command = {"sleep", "600"}, .files = {}});
  CHECK_FALSE(await_child(child, std::chrono::milliseconds(20)));
  ::kill(child, SIGTERM);
  const auto status = await_child(child, kPatience);
  REQUIRE(status);
  CHECK(WTERMSIG(*status) == SIGTERM);
  CHECK_FALSE(await_child(child, kPatience));  // there is no such child any more
}

TEST_CASE("who waits for a child's end sleeps until then") {
  const pid_t child = start_child({.command = {"sleep", "0.5"}, .files = {}});
  const auto before = sleeps_of_this_thread();
  REQUIRE(await_child(child, kPatience));
  CHECK(sleeps_of_this_thread() - before < 10);
}

TEST_CASE("who waits for a child that has ended, and that another process traces, sleeps between its looks") {
  const pid_t child = idle_child();
  Tracer tracer(child);
  ::kill(child, SIGKILL);
  if (!tracer.traces()) {
    REQUIRE(await_child(child, kPatience));
    SKIP("no process may trace another one here");
  }
  REQUIRE(test::comes_to_end(child));
  const auto before = sleeps_of_this_thread();
  CHECK_FALSE(await_child(child, std::chrono::milliseconds(300)));
  CHECK(sleeps_of_this_thread() - before >= 3);  // some 280 on an idle machine; who spins does not sleep at all
  tracer.end();
  const auto status = await_child(child, kPatience);
  REQUIRE(status);
  CHECK(WTERMSIG(*status) == SIGKILL);
}

TEST_CASE("a child ends with the thread that started it") {
  pid_t child = -1;
  std::thread([&] { child = start_child({.command = {"sleep", "600"}, .files = {}}); }).join();
  const auto status = await_child(child, kPatience);
  if (!status) end_group(child, kPatience);
  REQUIRE(status);
  CHECK(WTERMSIG(*status) == SIGKILL);
}

TEST_CASE("whether a child ends by itself is seen without taking its end") {
  const Shell ended("exit 3"), idle("exec sleep 600");
  CHECK(ends_within(ended.child, kPatience));
  CHECK(end_group(ended.child, kPatience) == "exit status 3");
  CHECK_FALSE(ends_within(ended.child, kPatience));  // its end was taken
  CHECK_FALSE(ends_within(idle.child, std::chrono::milliseconds(20)));
}

TEST_CASE("with a child ends all that it has started") {
  Shell shell("sleep 600 & echo $!; wait");
  const auto grandchild = static_cast<pid_t>(std::stol(shell.line()));
  CHECK(end_group(shell.child, kPatience) == "signal 9");
  CHECK(test::comes_to_end(grandchild));
}

}  // namespace esper::base::child_process_test
