// What a server uses: no timer where nobody is connected, no descriptor that stays.
#include <catch2/catch_test_macros.hpp>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <thread>

#include "http/client.h"
#include "http/event_reader.h"
#include "http/server.h"
#include "running_server.h"
#include "support/patience.h"

namespace esper::test::server_resources_test {

using namespace esper;
using namespace std::chrono_literals;
using test::RawClient;
using test::RunningServer;

namespace {

// How often the thread went to sleep so far.
long sleeps_of(pid_t thread) {
  std::ifstream status("/proc/self/task/" + std::to_string(thread) + "/status");
  std::string word;
  long count = -1;
  while (status >> word)
    if (word == "voluntary_ctxt_switches:") status >> count;
  REQUIRE(count >= 0);
  return count;
}

long wake_ups(const RunningServer& server, std::chrono::milliseconds time) {
  std::this_thread::sleep_for(50ms);  // until the loop has done what there is to do
  const long before = sleeps_of(server.thread());
  std::this_thread::sleep_for(time);
  return sleeps_of(server.thread()) - before;
}

std::ptrdiff_t open_descriptors() { return std::distance(std::filesystem::directory_iterator("/proc/self/fd"), {}); }

http::Response stream_or_echo(const http::Request& request) {
  auto response = test::echo(request);
  response.is_event_stream = request.path == "/events";
  return response;
}

// So short that any timer that is left would wake the loop in the time that is watched.
http::ServerOptions with_short_deadlines() {
  http::ServerOptions options;
  options.limits.request = options.limits.idle = options.limits.write = options.limits.linger = 20ms;
  options.limits.heartbeat = 20ms;
  return options;
}

}  // namespace

TEST_CASE("where nobody is connected nothing wakes the loop") {
  RunningServer server(stream_or_echo, with_short_deadlines());
  CHECK(wake_ups(server, 300ms) == 0);
  REQUIRE(http::request(server.endpoint(), "GET", "/", {}, test::kPatience));
  {
    auto reader = http::EventReader::open(server.endpoint(), "/events", test::kPatience);
    REQUIRE(reader);
    CHECK(wake_ups(server, 300ms) > 0);  // heartbeats
  }
  REQUIRE(server.comes_to([](const auto& counts) { return counts.open == 0; }));
  CHECK(wake_ups(server, 300ms) == 0);
}

TEST_CASE("without deadlines that are near, a connected client does not wake the loop either") {
  RunningServer server(stream_or_echo);
  RawClient idle(server.endpoint());
  auto reader = http::EventReader::open(server.endpoint(), "/events", test::kPatience);
  REQUIRE(reader);
  CHECK(wake_ups(server, 200ms) == 0);
}

TEST_CASE("the loop of a closed server ends: nothing is left to wait for") {
  for (const bool is_connected : {false, true}) {
    boost::asio::io_context loop;
    test::TemporaryFolder folder;
    http::Server server(loop, stream_or_echo);
    REQUIRE(server.listen_unix(folder / "s"));
    std::unique_ptr<RawClient> client;
    if (is_connected) client = std::make_unique<RawClient>(http::UnixEndpoint{folder / "s"});
    loop.run_for(50ms);
    CHECK(server.counts().open == (is_connected ? 1 : 0));
    server.close();
    loop.restart();
    loop.run();
    CHECK(server.counts().open == 0);
  }
}

TEST_CASE("1,000 connections leave no descriptor behind") {
  const auto at_first = open_descriptors();
  {
    RunningServer server(stream_or_echo);
    const http::Endpoint endpoints[] = {server.endpoint(), server.listen_loopback("secret")};
    const auto before = open_descriptors();
    for (int i = 0; i < 1000; ++i) {
      const auto& endpoint = endpoints[i % 2];
      switch (i / 2 % 5) {
        case 0:
          REQUIRE(http::request(endpoint, "GET", "/", {}, test::kPatience));
          break;
        case 1:
          REQUIRE(http::EventReader::open(endpoint, "/events", test::kPatience));
          break;
        case 2:
          RawClient{endpoint}.send("broken\r\n\r\n");
          break;
        case 3:
          RawClient{endpoint}.send("GET / HTTP/1.1\r\n");
          break;
        default:
          RawClient{endpoint};
      }
    }
    REQUIRE(server.comes_to([](const auto& counts) { return counts.open == 0; }));
    CHECK(open_descriptors() == before);
  }
  CHECK(open_descriptors() == at_first);
}

}  // namespace esper::test::server_resources_test
