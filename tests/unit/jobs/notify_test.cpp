#include "jobs/daemon/notify.h"

#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <array>
#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <cstddef>
#include <cstdlib>

#include "base/descriptor.h"
#include "support/temporary_folder.h"

namespace esper::test::notify_test {

using namespace esper;
using namespace esper::jobs;
using namespace std::chrono_literals;

namespace {

// What a service manager has: a datagram socket. `name` as in NOTIFY_SOCKET.
class Manager {
 public:
  explicit Manager(const std::string& name) : socket_(::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0)) {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    name.copy(address.sun_path, name.size());
    if (name[0] == '@') address.sun_path[0] = '\0';
    const auto length = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + name.size());
    REQUIRE(::bind(socket_.number(), reinterpret_cast<const sockaddr*>(&address), length) == 0);
  }

  // The next datagram; empty: none is there.
  std::string next() const {
    std::array<char, 4096> text{};
    const auto got = ::recv(socket_.number(), text.data(), text.size(), MSG_DONTWAIT);
    return {text.data(), got > 0 ? static_cast<std::size_t>(got) : 0};
  }

 private:
  base::Descriptor socket_;
};

struct Environment {
  Environment(const std::string& socket, const std::string& usec, const std::string& pid) {
    set("NOTIFY_SOCKET", socket);
    set("WATCHDOG_USEC", usec);
    set("WATCHDOG_PID", pid);
  }
  static void set(const char* name, const std::string& value) {
    if (value.empty()) {
      ::unsetenv(name);
    } else {
      ::setenv(name, value.c_str(), 1);
    }
  }
};

const std::string kOwnPid = std::to_string(::getpid());

}  // namespace

TEST_CASE("the service manager is taken out of the environment") {
  const Environment environment("/run/notify", "30000000", kOwnPid);
  const auto manager = take_service_manager();
  CHECK(manager.socket == "/run/notify");
  CHECK(manager.watchdog == 30s);
  for (const char* name : {"NOTIFY_SOCKET", "WATCHDOG_USEC", "WATCHDOG_PID"}) CHECK(std::getenv(name) == nullptr);
  const auto none = take_service_manager();
  CHECK(none.socket.empty());
  CHECK(none.watchdog == 0s);
}

TEST_CASE("a watchdog counts only for this process and with a time that is one") {
  const auto watchdog = [](const std::string& usec, const std::string& pid) {
    const Environment environment("/run/notify", usec, pid);
    return take_service_manager().watchdog;
  };
  CHECK(watchdog("2000000", "") == 2s);
  CHECK(watchdog("2000000", "1") == 0s);
  CHECK(watchdog("2000000", kOwnPid + "0") == 0s);
  CHECK(watchdog("2000000", "x") == 0s);
  for (const char* usec : {"0", "-1", "2s", "99999999999999999999"}) CHECK(watchdog(usec, kOwnPid) == 0s);
}

TEST_CASE("what is reported arrives, at a path and at an abstract name") {
  const test::TemporaryFolder folder;
  const bool is_abstract = GENERATE(false, true);
  const std::string name = is_abstract ? "@esper-test-" + kOwnPid : folder / "notify";
  CAPTURE(name);
  const Manager manager(name);
  boost::asio::io_context loop;
  ServiceNotices notices(loop, {.socket = name});
  notices.ready();
  notices.status("2 running");
  notices.stopping();
  CHECK(manager.next() == "READY=1");
  CHECK(manager.next() == "STATUS=2 running");
  CHECK(manager.next() == "STOPPING=1");
  CHECK(manager.next().empty());
  loop.run();
  CHECK(manager.next().empty());
}

TEST_CASE("signs of life come at half of the watchdog's time, once the daemon is ready") {
  const test::TemporaryFolder folder;
  const Manager manager(folder / "notify");
  boost::asio::io_context loop;
  ServiceNotices notices(loop, {.socket = folder / "notify", .watchdog = 200ms});
  loop.run_for(250ms);
  CHECK(manager.next().empty());
  const auto begin = std::chrono::steady_clock::now();
  notices.ready();
  CHECK(manager.next() == "READY=1");
  loop.restart();
  CHECK(loop.run_one_for(60s) == 1);
  CHECK(std::chrono::steady_clock::now() - begin >= 100ms);
  CHECK(manager.next() == "WATCHDOG=1");
  CHECK(loop.run_one_for(60s) == 1);
  CHECK(manager.next() == "WATCHDOG=1");
}

TEST_CASE("a service manager that is not there is no failure") {
  const test::TemporaryFolder folder;
  CHECK(!notify({.socket = folder / "nobody"}, "READY=1"));
  CHECK(!notify({.socket = ""}, "READY=1"));
  CHECK(!notify({.socket = "relative"}, "READY=1"));
  CHECK(!notify({.socket = "/" + std::string(200, 'x')}, "READY=1"));
}

TEST_CASE("a service manager that does not read is not waited for") {
  const test::TemporaryFolder folder;
  const Manager manager(folder / "notify");
  int sent = 0;
  while (sent < 100000 && notify({.socket = folder / "notify"}, "STATUS=x")) ++sent;
  CHECK(sent < 100000);
  CHECK(sent > 0);
}

}  // namespace esper::test::notify_test
