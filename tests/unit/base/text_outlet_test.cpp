#include "base/text/text_outlet.h"

#include <fcntl.h>
#include <poll.h>
#include <pty.h>
#include <signal.h>
#include <sys/socket.h>
#include <termios.h>
#include <unistd.h>

#include <catch2/catch_test_macros.hpp>
#include <chrono>
#include <string>

#include "base/text/timed_write.h"
#include "support/patience.h"
#include "support/waits.h"

namespace esper::test::text_outlet_test {

using namespace std::chrono_literals;
using namespace esper::base;

namespace {

using esper::test::kPatience;
using esper::test::waits_of;

// Two ends: what is written to the second can be read from the first.
struct Ends {
  Descriptor reader, writer;
};

Ends pipe_ends() {
  int ends[2];
  REQUIRE(pipe(ends) == 0);
  return {Descriptor(ends[0]), Descriptor(ends[1])};
}

Ends socket_ends() {
  int ends[2];
  REQUIRE(socketpair(AF_UNIX, SOCK_STREAM, 0, ends) == 0);
  return {Descriptor(ends[0]), Descriptor(ends[1])};
}

Ends terminal_ends() {
  int master = 0, slave = 0;
  REQUIRE(openpty(&master, &slave, nullptr, nullptr, nullptr) == 0);
  return {Descriptor(master), Descriptor(slave)};
}

std::string drain(const Ends& ends) {
  REQUIRE(fcntl(ends.reader.number(), F_SETFL, O_NONBLOCK) == 0);
  std::string out;
  char block[4096];
  for (;;) {
    const auto count = read(ends.reader.number(), block, sizeof block);
    if (count <= 0) return out;
    out.append(block, static_cast<std::size_t>(count));
  }
}

// What comes until the wanted text is there; a terminal hands it over with a delay.
std::string read_until(const Ends& ends, const std::string& wanted) {
  const auto until = std::chrono::steady_clock::now() + kPatience;
  std::string out;
  while (out.find(wanted) == std::string::npos && std::chrono::steady_clock::now() < until) {
    pollfd entry{ends.reader.number(), POLLIN, 0};
    poll(&entry, 1, 100);
    out += drain(ends);
  }
  return out;
}

// Until the outlet says that nobody reads; so many whole texts have gone before.
int fill(TextOutlet& outlet, const std::string& text) {
  for (int n = 0; n < 10'000; ++n) {
    const int error = outlet.write(text);
    if (error == 0) continue;
    CHECK(error == ETIMEDOUT);
    return n;
  }
  FAIL("there is always room");
  return 0;
}

}  // namespace

TEST_CASE("a pipe, a socket or a terminal that nobody reads costs one deadline, then nothing") {
  for (auto* const make : {pipe_ends, socket_ends, terminal_ends}) {
    const auto ends = make();
    TextOutlet outlet(ends.writer.number(), 50ms);
    std::string text(700, 'x');
    text += '\n';
    fill(outlet, text);
    const long waits = waits_of([&] {
      for (int i = 0; i < 1000; ++i) CHECK(outlet.write(text) == ETIMEDOUT);
    });
    CHECK(waits < 500);
    // It works again once somebody reads.
    const auto until = std::chrono::steady_clock::now() + kPatience;
    do {
      drain(ends);
    } while (outlet.write("again\n") != 0 && std::chrono::steady_clock::now() < until);
    CHECK(read_until(ends, "again").find("again") != std::string::npos);
  }
}

TEST_CASE("a stopped terminal costs one deadline, and takes text again when it goes on") {
  const auto ends = terminal_ends();
  TextOutlet outlet(ends.writer.number(), 50ms);
  REQUIRE(tcflow(ends.writer.number(), TCOOFF) == 0);
  CHECK(outlet.write("lost\n") == ETIMEDOUT);
  REQUIRE(tcflow(ends.writer.number(), TCOON) == 0);
  CHECK(outlet.write("shown\n") == 0);
  CHECK(read_until(ends, "shown\r\n") == "shown\r\n");
}

TEST_CASE("the shared descriptor keeps its flags") {
  const auto ends = pipe_ends();
  const int before = fcntl(ends.writer.number(), F_GETFL);
  TextOutlet outlet(ends.writer.number());
  CHECK(outlet.write("text\n") == 0);
  CHECK(fcntl(ends.writer.number(), F_GETFL) == before);
  CHECK((before & O_NONBLOCK) == 0);
}

TEST_CASE("a line that was cut is ended before the next") {
  const auto ends = pipe_ends();
  const int size = fcntl(ends.writer.number(), F_SETPIPE_SZ, 4096);
  REQUIRE(size > 0);
  TextOutlet outlet(ends.writer.number(), 20ms);
  CHECK(outlet.write(std::string(static_cast<std::size_t>(size) + 100, 'x') + "\n") == ETIMEDOUT);
  drain(ends);
  CHECK(outlet.write("next\n") == 0);
  CHECK(drain(ends) == "\nnext\n");
}

TEST_CASE("a blocking pipe is written only where there is room") {
  const auto ends = pipe_ends();
  const std::string block(1000, 'x');
  int error = 0;
  for (int i = 0; error == 0 && i < 1000; ++i) error = write_all(ends.writer.number(), block, Duration{}).error;
  CHECK(error == ETIMEDOUT);  // a write that waits for room would never end
}

TEST_CASE("a pipe that was closed gives EPIPE") {
  auto ends = pipe_ends();
  signal(SIGPIPE, SIG_IGN);
  TextOutlet outlet(ends.writer.number());
  ends.reader.reset();
  CHECK(outlet.write("text\n") == EPIPE);
  signal(SIGPIPE, SIG_DFL);
}

}  // namespace esper::test::text_outlet_test
