#include "base/text/line_channel.h"

#include <pthread.h>
#include <signal.h>
#include <sys/socket.h>

#include <atomic>
#include <catch2/catch_test_macros.hpp>
#include <thread>

#include "base/clock.h"
#include "support/patience.h"

namespace esper::base::line_channel_test {
namespace {

using std::chrono::milliseconds;
using test::kPatience;

// A signal without SA_RESTART for the calling thread, again and again, while it lives.
class Interruptions {
 public:
  Interruptions() : target_(::pthread_self()) {
    struct sigaction action{};
    action.sa_handler = [](int) {};
    ::sigaction(SIGUSR1, &action, &before_);
    thread_ = std::thread([this] {
      while (!stop_) {
        ::pthread_kill(target_, SIGUSR1);
        std::this_thread::sleep_for(milliseconds(5));
      }
    });
  }
  ~Interruptions() {
    stop_ = true;
    thread_.join();
    ::sigaction(SIGUSR1, &before_, nullptr);
  }

 private:
  pthread_t target_;
  struct sigaction before_{};
  std::atomic<bool> stop_{false};
  std::thread thread_;
};

}  // namespace

TEST_CASE("neither reading nor sending outlasts its deadline, however often a signal interrupts") {
  Descriptor theirs;
  LineChannel channel(theirs);
  const Interruptions interruptions;
  const Clock clock;
  const auto before = clock.now();
  std::string line;
  CHECK(channel.read_line(line, milliseconds(100)) == LineChannel::Read::kTimeout);
  CHECK(clock.now() - before >= milliseconds(100));
  // More than the socket's buffers hold, and nobody reads it.
  CHECK(channel.send(std::string(LineChannel::kLongestLine, 'x'), milliseconds(100)) == LineChannel::Send::kTimeout);
}

TEST_CASE("a reader that takes a byte now and then does not renew the deadline of a send") {
  Descriptor theirs;
  LineChannel channel(theirs);
  std::atomic<bool> stop{false};
  std::thread reader([&] {
    char bytes[4096];
    while (!stop) {
      [[maybe_unused]] const auto ignored = ::recv(theirs.number(), bytes, sizeof bytes, MSG_DONTWAIT);
      std::this_thread::sleep_for(milliseconds(20));
    }
  });
  CHECK(channel.send(std::string(LineChannel::kLongestLine, 'x'), milliseconds(300)) == LineChannel::Send::kTimeout);
  stop = true;
  reader.join();
}

TEST_CASE("lines arrive one by one, and the other side's end is told from its silence") {
  Descriptor theirs;
  LineChannel channel(theirs);
  REQUIRE(::send(theirs.number(), "one\ntw", 6, 0) == 6);
  std::string line;
  REQUIRE(channel.read_line(line, kPatience) == LineChannel::Read::kLine);
  CHECK(line == "one");
  CHECK(channel.read_line(line, milliseconds(10)) == LineChannel::Read::kTimeout);
  REQUIRE(::send(theirs.number(), "o\n", 2, 0) == 2);
  REQUIRE(channel.read_line(line, kPatience) == LineChannel::Read::kLine);
  CHECK(line == "two");
  theirs.reset();
  CHECK(channel.read_line(line, kPatience) == LineChannel::Read::kEnd);
  CHECK(channel.send("anybody?", kPatience) == LineChannel::Send::kEnd);
}

TEST_CASE("the end of a process that is no child of this one is not waited for") {
  CHECK(end_group(2'000'000'000, std::chrono::hours(24)) == "unknown");
}

}  // namespace esper::base::line_channel_test
