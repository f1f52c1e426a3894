#include "base/out_of_memory_exit.h"

#include <fcntl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <catch2/catch_test_macros.hpp>
#include <csignal>
#include <exception>
#include <new>
#include <stdexcept>
#include <string>

#include "base/error.h"

namespace esper::test::out_of_memory_exit_test {

namespace {

struct End {
  int status = 0;
  std::string text;  // on standard error
};

// How a process ends that throws where nothing may throw.
template <class Exception>
End end_of(const Exception& exception) {
  int ends[2];
  REQUIRE(pipe2(ends, O_CLOEXEC) == 0);
  const pid_t child = fork();
  if (child == 0) {
    dup2(ends[1], STDERR_FILENO);
    std::signal(SIGABRT, SIG_DFL);  // Catch2 would report it
    const rlimit no_core{};
    setrlimit(RLIMIT_CORE, &no_core);
    base::install_out_of_memory_exit("no memory is left\n");
    [&]() noexcept { std::rethrow_exception(std::make_exception_ptr(exception)); }();
  }
  close(ends[1]);
  End end;
  char part[256];
  for (ssize_t count = 0; (count = read(ends[0], part, sizeof part)) > 0;)
    end.text.append(part, static_cast<std::size_t>(count));
  close(ends[0]);
  REQUIRE(waitpid(child, &end.status, 0) == child);
  return end;
}

}  // namespace

TEST_CASE("where memory runs out and nothing may throw, the process prints the text and ends with exit code 6") {
  const End end = end_of(std::bad_alloc());
  REQUIRE(WIFEXITED(end.status));
  CHECK(WEXITSTATUS(end.status) == static_cast<int>(base::ExitCode::kResources));
  CHECK(end.text == "no memory is left\n");
}

TEST_CASE("another exception where nothing may throw is a bug, and ends as such") {
  const End end = end_of(std::logic_error("a bug"));
  REQUIRE(WIFSIGNALED(end.status));
  CHECK(WTERMSIG(end.status) == SIGABRT);
  CHECK(end.text.find("no memory") == std::string::npos);
}

}  // namespace esper::test::out_of_memory_exit_test
