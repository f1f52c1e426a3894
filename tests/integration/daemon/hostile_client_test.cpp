// Clients that are slow, silent, many, malformed or other users, beside a job that trains and a client that asks.
#include <grp.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <filesystem>
#include <fstream>
#include <thread>

#include "daemon_room.h"
#include "http/client.h"
#include "http/unix_address.h"
#include "jobs/daemon/daemon.h"
#include "support/comes_true.h"
#include "support/raw_client.h"

namespace esper::test::hostile_client_test {

using namespace esper::test;
using namespace std::chrono_literals;
namespace http = esper::http;

namespace {

constexpr long kMostGrowthKib = 16 << 10;  // the daemon's buffers for all connections that it admits

struct HostileRoom {
  DaemonRoom daemon;
  http::Endpoint endpoint;
  int job = 0;

  HostileRoom() {
    daemon.start();
    endpoint = http::UnixEndpoint{esper::jobs::socket_of(daemon.state_dir())};
    const auto config = daemon.room.write("growing.yaml", growing_config());
    job = daemon.tell(Words{"submit", config} + sets({"epochs=100000", "device.threads=1"}))["id"].get<int>();
    REQUIRE(daemon.wait_for_state(job, "running"));
  }
  ~HostileRoom() { daemon.ask({"job", "cancel", std::to_string(job)}); }

  // Within the time in which a person would think that it hangs. A daemon whose connections are all in use says so.
  bool is_served(std::chrono::seconds patience = 10s) const {
    const auto deadline = std::chrono::steady_clock::now() + patience;
    while (std::chrono::steady_clock::now() < deadline) {
      const auto response = http::request(endpoint, "GET", "/v1/jobs", {}, 10s);
      if (response && response->status == 200) return true;
      std::this_thread::sleep_for(50ms);
    }
    return false;
  }
  long resident_kib() const {
    std::ifstream status("/proc/" + std::to_string(daemon.daemon()) + "/status");
    for (std::string word; status >> word;) {
      if (word != "VmRSS:") continue;
      long size = 0;
      status >> size;
      return size;
    }
    return 0;
  }
  std::ptrdiff_t descriptors() const {
    const std::filesystem::directory_iterator open("/proc/" + std::to_string(daemon.daemon()) + "/fd");
    return std::distance(begin(open), end(open));
  }
  bool still_trains() const { return daemon.job(job)["state"] == "running" && daemon.is_alive(job); }
  std::vector<std::unique_ptr<RawClient>> connect(int count) const {
    std::vector<std::unique_ptr<RawClient>> clients;
    for (int i = 0; i < count; ++i) clients.push_back(std::make_unique<RawClient>(endpoint));
    return clients;
  }
};

// What another user gets from the daemon's socket: the child's exit status.
enum class Reached { kNothing = 10, kClosed = 11, kAnswer = 12, kNotTried = 13 };

Reached as_another_user(const std::string& socket) {
  constexpr uid_t kNobody = 65534;
  const pid_t child = ::fork();
  if (child == 0) {
    const auto leave = [](Reached reached) { ::_exit(static_cast<int>(reached)); };
    if (::setgroups(0, nullptr) < 0 || ::setgid(kNobody) < 0 || ::setuid(kNobody) < 0) leave(Reached::kNotTried);
    const int connection = ::socket(AF_UNIX, SOCK_STREAM, 0);
    const auto address = http::unix_address(socket);
    if (!address || ::connect(connection, address->get(), sizeof(sockaddr_un)) < 0) leave(Reached::kNothing);
    static constexpr std::string_view kAsk = "GET /v1/daemon HTTP/1.1\r\nHost: x\r\n\r\n";
    (void)!::send(connection, kAsk.data(), kAsk.size(), MSG_NOSIGNAL);
    char byte = 0;
    leave(::recv(connection, &byte, 1, 0) > 0 ? Reached::kAnswer : Reached::kClosed);
  }
  int status = 0;
  REQUIRE(::waitpid(child, &status, 0) == child);
  REQUIRE(WIFEXITED(status));
  return static_cast<Reached>(WEXITSTATUS(status));
}

}  // namespace

TEST_CASE("slow, silent and half-open clients keep nobody from being served, and a job trains on") {
  HostileRoom room;
  const long before = room.resident_kib();
  const auto slow = room.connect(20), silent = room.connect(30), half_open = room.connect(10), deaf = room.connect(30);
  for (const auto& client : half_open) client->end_input();
  for (const auto& client : deaf) client->send("GET /v1/events HTTP/1.1\r\nHost: x\r\n\r\n");
  const std::string header = "GET /v1/daemon HTTP/1.1\r\nHost: x\r\nX-Slow: ";
  const auto end = std::chrono::steady_clock::now() + 12s;
  for (std::size_t sent = 0; std::chrono::steady_clock::now() < end; ++sent) {
    for (const auto& client : slow) client->send(header.substr(sent % header.size(), 1));
    CHECK(room.is_served());
    std::this_thread::sleep_for(200ms);
  }
  for (const auto& client : slow) CHECK(client->is_closed_within(30s));  // the request's deadline is 10 s
  CHECK(room.resident_kib() < before + kMostGrowthKib);
  CHECK(room.still_trains());
}

TEST_CASE("a thousand idle connections keep nobody from being served, and leave nothing behind") {
  HostileRoom room;
  const long before = room.resident_kib();
  const auto open_before = room.descriptors();
  for (int round = 0; round < 3; ++round) {
    const auto idle = room.connect(1000);
    CHECK(room.is_served(30s));
    CHECK(room.descriptors() < open_before + 80);
  }
  CHECK(room.is_served(30s));
  CHECK(comes_true([&] { return room.descriptors() <= open_before + 8; }));
  CHECK(room.resident_kib() < before + kMostGrowthKib);
  CHECK(room.still_trains());
}

TEST_CASE("what is no request is refused or cut off, and nothing of it stays") {
  HostileRoom room;
  const long before = room.resident_kib();
  const std::string post = "POST /v1/jobs HTTP/1.1\r\nHost: x\r\n";
  const std::vector<std::string> garbage = {
      std::string(1000, '\0'),
      "\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03",  // TLS
      "GET / HTTP/9.9\r\n\r\n",
      "GET  / HTTP/1.1\r\n\r\n",
      "GET /v1/jobs HTTP/1.1\r\nHost x\r\n\r\n",
      "GET /v1/jobs HTTP/1.1\r\nX: " + std::string(1 << 20, 'x') + "\r\n\r\n",
      "GET /" + std::string(1 << 20, 'x') + " HTTP/1.1\r\n\r\n",
      post + "Transfer-Encoding: chunked\r\n\r\nzz\r\n{}\r\n0\r\n\r\n",
      post + "Transfer-Encoding: chunked\r\n\r\nffffffffffffffffff\r\n",
      post + "Transfer-Encoding: chunked\r\n\r\n-1\r\n\r\n",
      post + "Content-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n{}",
      post + "Content-Length: 99999999999999999999\r\n\r\n",
      post + "Content-Length: 9000000\r\n\r\n" + std::string(1 << 20, '{'),
      post + "Content-Length: -1\r\n\r\n",
  };
  for (int round = 0; round < 5; ++round) {
    for (const auto& text : garbage) {
      CAPTURE(text.substr(0, 80));
      RawClient client(room.endpoint);
      client.send(text);
      client.end_input();
      const auto answer = client.read_all();
      CHECK((answer.empty() || answer.starts_with("HTTP/1.1 4") || answer.starts_with("HTTP/1.1 505")));
    }
  }
  CHECK(room.is_served());
  CHECK(room.resident_kib() < before + kMostGrowthKib);
  CHECK(room.still_trains());
}

TEST_CASE("another user is refused by the folder, and by the daemon where the folder lets him in") {
  if (::geteuid() != 0) SKIP("only root can become another user");
  HostileRoom room;
  const std::string socket = esper::jobs::socket_of(room.daemon.state_dir());
  if (as_another_user(socket) == Reached::kNotTried) SKIP("this root cannot become another user");
  CHECK(as_another_user(socket) == Reached::kNothing);
  namespace fs = std::filesystem;
  const auto let_in = fs::perms::others_exec;
  fs::permissions(room.daemon.room.path, let_in, fs::perm_options::add);
  fs::permissions(room.daemon.state_dir(), let_in, fs::perm_options::add);
  CHECK(as_another_user(socket) == Reached::kNothing);  // the socket's own mode
  REQUIRE(::chmod(socket.c_str(), 0666) == 0);
  CHECK(as_another_user(socket) == Reached::kClosed);  // the kernel says who he is
  CHECK(room.is_served());
}

}  // namespace esper::test::hostile_client_test
