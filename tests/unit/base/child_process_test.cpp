#include "base/text/child_process.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <catch2/catch_test_macros.hpp>
#include <system_error>
#include <thread>

#include "base/clock.h"
#include "base/text/line_channel.h"
#include "support/patience.h"
#include "support/process_end.h"

namespace esper::base::child_process_test {
namespace {

using test::kPatience;

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

TEST_CASE("a child ends with the thread that started it") {
  pid_t child = -1;
  std::thread([&] { child = start_child({.command = {"sleep", "600"}, .files = {}}); }).join();
  const Clock clock;
  int status = 0;
  pid_t ended = 0;
  for (const auto until = clock.now() + kPatience; ended == 0 && clock.now() < until;
       clock.sleep(std::chrono::milliseconds(1))) {
    ended = ::waitpid(child, &status, WNOHANG);
  }
  CHECK(ended == child);
  CHECK(WTERMSIG(status) == SIGKILL);
  if (ended == 0) end_group(child, kPatience);
}

TEST_CASE("with a child ends all that it has started") {
  Shell shell("sleep 600 & echo $!; wait");
  const auto grandchild = static_cast<pid_t>(std::stol(shell.line()));
  CHECK(end_group(shell.child, kPatience) == "signal 9");
  CHECK(test::comes_to_end(grandchild));
}

}  // namespace esper::base::child_process_test
