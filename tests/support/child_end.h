#pragma once
// How a copy of this process ends that does one thing.

#include <fcntl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <catch2/catch_test_macros.hpp>
#include <csignal>
#include <string>

namespace esper::test {

struct ChildEnd {
  int status = 0;    // of waitpid
  std::string text;  // on standard error
};

// The copy ends with status 0 where `act` returns.
template <class Act>
ChildEnd end_of_child(const Act& act) {
  int ends[2];
  REQUIRE(pipe2(ends, O_CLOEXEC) == 0);
  const pid_t child = fork();
  if (child == 0) {
    dup2(ends[1], STDERR_FILENO);
    std::signal(SIGABRT, SIG_DFL);  // Catch2 would report it
    const rlimit no_core{};
    setrlimit(RLIMIT_CORE, &no_core);
    act();
    _exit(0);
  }
  close(ends[1]);
  ChildEnd end;
  char part[256];
  for (ssize_t count = 0; (count = read(ends[0], part, sizeof part)) > 0;)
    end.text.append(part, static_cast<std::size_t>(count));
  close(ends[0]);
  REQUIRE(waitpid(child, &end.status, 0) == child);
  return end;
}

}  // namespace esper::test
