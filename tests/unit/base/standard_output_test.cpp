#include "base/text/standard_output.h"

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <catch2/catch_test_macros.hpp>
#include <chrono>
#include <string>
#include <thread>

#include "support/child_end.h"

namespace esper::test::standard_output_test {

namespace {

constexpr std::size_t kBytes = 300'000;  // several times what a pipe holds

// Standard output becomes a pipe; its other end.
int pipe_at_standard_output(int flags) {
  int ends[2];
  if (pipe(ends) != 0 || fcntl(ends[1], F_SETFL, flags) != 0) _exit(1);
  dup2(ends[1], STDOUT_FILENO);
  close(ends[1]);
  return ends[0];
}

}  // namespace

TEST_CASE("a result goes whole through a non-blocking pipe whose reader is slow") {
  const auto end = end_of_child([]() noexcept {
    const int reader = pipe_at_standard_output(O_NONBLOCK);
    std::size_t read_bytes = 0;
    std::thread reading([&] {
      char part[10'000];
      for (ssize_t count = 0; (count = read(reader, part, sizeof part)) > 0;) {
        read_bytes += static_cast<std::size_t>(count);
        std::this_thread::sleep_for(std::chrono::milliseconds(2));
      }
    });
    base::write_output(std::string(kBytes, 'x'));
    close(STDOUT_FILENO);
    reading.join();
    _exit(read_bytes == kBytes ? 0 : 2);
  });
  REQUIRE(WIFEXITED(end.status));
  CHECK(WEXITSTATUS(end.status) == 0);
}

TEST_CASE("a reader that goes away ends a write to a non-blocking pipe") {
  const auto end = end_of_child([]() noexcept {
    base::keep_standard_streams();
    const int reader = pipe_at_standard_output(O_NONBLOCK);
    const std::thread leaving([reader] {
      std::this_thread::sleep_for(std::chrono::milliseconds(50));
      close(reader);
    });
    try {
      base::write_output(std::string(kBytes, 'x'));
    } catch (const base::BrokenPipe&) {
      _exit(3);
    }
    _exit(2);
  });
  REQUIRE(WIFEXITED(end.status));
  CHECK(WEXITSTATUS(end.status) == 3);
}

TEST_CASE("a wait for input ends with the input, and where nobody reads the output any more") {
  const auto end = end_of_child([]() noexcept {
    const int reader = pipe_at_standard_output(0);
    int input[2];
    if (pipe(input) != 0 || write(input[1], "x", 1) != 1) _exit(1);
    try {
      base::wait_until_readable({-1, input[0]});
    } catch (const base::BrokenPipe&) {
      _exit(2);
    }
    close(reader);
    try {
      base::wait_until_readable({-1});
    } catch (const base::BrokenPipe&) {
      _exit(3);
    }
  });
  REQUIRE(WIFEXITED(end.status));
  CHECK(WEXITSTATUS(end.status) == 3);
}

}  // namespace esper::test::standard_output_test
