#include "base/out_of_memory_exit.h"

#include <sys/wait.h>

#include <catch2/catch_test_macros.hpp>
#include <csignal>
#include <exception>
#include <new>
#include <stdexcept>

#include "base/error.h"
#include "support/child_end.h"

namespace esper::test::out_of_memory_exit_test {

namespace {

// How a process ends that throws where nothing may throw.
template <class Exception>
ChildEnd end_of(const Exception& exception) {
  return end_of_child([&] {
    base::install_out_of_memory_exit("no memory is left\n");
    [&]() noexcept { std::rethrow_exception(std::make_exception_ptr(exception)); }();
  });
}

}  // namespace

TEST_CASE("where memory runs out and nothing may throw, the process prints the text and ends with exit code 6") {
  const ChildEnd end = end_of(std::bad_alloc());
  REQUIRE(WIFEXITED(end.status));
  CHECK(WEXITSTATUS(end.status) == static_cast<int>(base::ExitCode::kResources));
  CHECK(end.text == "no memory is left\n");
}

TEST_CASE("another exception where nothing may throw is a bug, and ends as such") {
  const ChildEnd end = end_of(std::logic_error("a bug"));
  REQUIRE(WIFSIGNALED(end.status));
  CHECK(WTERMSIG(end.status) == SIGABRT);
  CHECK(end.text.find("no memory") == std::string::npos);
}

}  // namespace esper::test::out_of_memory_exit_test
