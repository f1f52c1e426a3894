// Clients that are slow, silent or too many.
#include <catch2/catch_test_macros.hpp>
#include <chrono>
#include <memory>
#include <optional>
#include <thread>
#include <vector>

#include "http/client.h"
#include "http/server.h"
#include "running_server.h"
#include "support/faults/no_more_files.h"
#include "support/patience.h"

namespace esper::test::server_abuse_test {

using namespace esper;
using namespace std::chrono_literals;
using test::RawClient;
using test::RunningServer;

namespace {

http::ServerOptions with(auto&& change) {
  http::ServerOptions options;
  change(options.limits);
  return options;
}

bool is_served(const http::Endpoint& endpoint) {
  const auto response = http::request(endpoint, "GET", "/", {}, test::kPatience);
  return response && response->status == 200;
}

std::vector<std::unique_ptr<RawClient>> many(const http::Endpoint& endpoint, int count) {
  std::vector<std::unique_ptr<RawClient>> clients;
  for (int i = 0; i < count; ++i) clients.push_back(std::make_unique<RawClient>(endpoint));
  return clients;
}

}  // namespace

TEST_CASE("65 connections that send nothing give way to one that asks") {
  RunningServer server(test::echo, with([](http::Limits& limits) { limits.evictable_after = 0s; }));
  const auto silent = many(server.endpoint(), 65);
  CHECK(is_served(server.endpoint()));
  CHECK(server.counts().open <= 64);
}

TEST_CASE("those who have all connections of TCP keep nobody from the local socket") {
  RunningServer server(test::echo, with([](http::Limits& limits) { limits.connections = 3; }));
  const auto slow = many(server.listen_loopback("secret"), 10);
  for (const auto& client : slow) client->send("GET / HT");
  REQUIRE(server.comes_to([](const auto& counts) { return counts.open == 3; }));
  for (int i = 0; i < 10; ++i) CHECK(is_served(server.endpoint()));
}

TEST_CASE("those who have begun a request over TCP without the token give way to one who has it") {
  RunningServer server(test::echo, with([](http::Limits& limits) {
                         limits.connections = 3;
                         limits.evictable_after = 0s;
                       }));
  const auto loopback = server.listen_loopback("secret");
  const auto slow = many(loopback, 3);
  for (const auto& client : slow) REQUIRE(client->send("G"));
  REQUIRE(server.comes_to([](const auto& counts) { return counts.open == 3; }));
  for (int i = 0; i < 10; ++i) CHECK(is_served(loopback));
  CHECK(slow[0]->is_closed_within(test::kPatience));
  CHECK(server.counts().refused_full == 0);
}

TEST_CASE("one who has shown the token over TCP, and sends its body, gives way to nobody") {
  RunningServer server(test::echo, with([](http::Limits& limits) {
                         limits.connections = 1;
                         limits.evictable_after = 0s;
                       }));
  const auto loopback = server.listen_loopback("secret");
  RawClient client(loopback);
  const std::string host = "Host: 127.0.0.1:" + std::to_string(loopback.port) + "\r\n";
  client.send("POST / HTTP/1.1\r\n" + host +
              "Authorization: Bearer secret\r\nContent-Length: 3\r\nExpect: 100-continue\r\n\r\n");
  REQUIRE(client.read_until("100 Continue\r\n\r\n").ends_with("100 Continue\r\n\r\n"));
  CHECK(!is_served(loopback));
  client.send("abc");
  CHECK(client.read_until("POST / abc").ends_with("POST / abc"));
}

TEST_CASE("connections that send nothing are closed after the deadline") {
  RunningServer server(test::echo, with([](http::Limits& limits) { limits.request = 50ms; }));
  const auto silent = many(server.endpoint(), 65);
  for (const auto& client : silent) CHECK(client->is_closed_within(test::kPatience));
  CHECK(is_served(server.endpoint()));
}

TEST_CASE("where all connections are at work another one gets 503") {
  RunningServer server(test::echo, with([](http::Limits& limits) {
                         limits.connections = 3;
                         limits.evictable_after = 0s;
                       }));
  const auto slow = many(server.endpoint(), 3);
  for (const auto& client : slow) client->send("GET / HT");
  REQUIRE(server.comes_to([](const auto& counts) { return counts.open == 3; }));
  const auto refused = [&] {
    const auto response = http::request(server.endpoint(), "GET", "/", {}, test::kPatience);
    return response && response->status == 503;
  };
  CHECK(refused());
  CHECK(server.counts().refused_full >= 1);
  slow[1]->send("TP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n");
  CHECK(slow[1]->read_all().starts_with("HTTP/1.1 200 OK"));
  CHECK(is_served(server.endpoint()));
}

TEST_CASE(
    "where the process has no descriptor left, the connection that was idle for longest gives way, and no other") {
  RunningServer server(test::echo, with([](http::Limits& limits) {
                         limits.idle = 1h;
                         limits.evictable_after = 0s;
                       }));
  const auto idle = many(server.endpoint(), 3);
  for (const auto& client : idle) {
    REQUIRE(client->send("GET /first HTTP/1.1\r\nHost: x\r\n\r\n"));
    REQUIRE(client->read_until("GET /first ").ends_with("GET /first "));
  }
  std::unique_ptr<RawClient> late;
  std::optional<test::NoMoreFiles> none;
  server.on_loop([&](http::Server&) {
    late = std::make_unique<RawClient>(server.endpoint());
    none.emplace();
  });
  CHECK(late->send("GET /late HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"));
  CHECK(late->read_all().ends_with("GET /late "));
  CHECK(idle[0]->is_closed_within(test::kPatience));
  for (auto* client : {idle[1].get(), idle[2].get()}) {
    CHECK(client->send("GET /again HTTP/1.1\r\nHost: x\r\n\r\n"));
    CHECK(client->read_until("GET /again ").ends_with("GET /again "));
  }
}

TEST_CASE("a request that arrives a byte at a time is cut off at its deadline") {
  RunningServer server(test::echo, with([](http::Limits& limits) { limits.request = 200ms; }));
  RawClient client(server.endpoint());
  const auto begin = std::chrono::steady_clock::now();
  bool sent = true;
  while (sent && std::chrono::steady_clock::now() - begin < test::kPatience) {
    sent = client.send("G");
    std::this_thread::sleep_for(10ms);
  }
  CHECK(!sent);
  CHECK(std::chrono::steady_clock::now() - begin >= 200ms);
}

TEST_CASE("a body that does not come is cut off at the same deadline") {
  RunningServer server(test::echo, with([](http::Limits& limits) { limits.request = 100ms; }));
  RawClient client(server.endpoint());
  client.send("POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 10\r\n\r\nabc");
  CHECK(client.is_closed_within(test::kPatience));
}

TEST_CASE("a connection stays open between requests for as long as it may, and no longer") {
  RunningServer server(test::echo, with([](http::Limits& limits) {
                         limits.request = 10ms * 1000;
                         limits.idle = 300ms;
                       }));
  RawClient client(server.endpoint());
  client.send("GET /1 HTTP/1.1\r\nHost: x\r\n\r\n");
  CHECK(client.read_until("GET /1 ").ends_with("GET /1 "));
  client.send("GET /2 HTTP/1.1\r\nHost: x\r\n\r\n");
  CHECK(client.read_until("GET /2 ").ends_with("GET /2 "));
  CHECK(client.is_closed_within(test::kPatience));
}

TEST_CASE("a client that does not read its response is cut off") {
  RunningServer server([](const http::Request&) { return http::Response{.body = std::string(32 << 20, 'x')}; },
                       with([](http::Limits& limits) { limits.write = 100ms; }));
  RawClient client(server.endpoint());
  client.send("GET / HTTP/1.1\r\nHost: x\r\n\r\n");
  REQUIRE(server.comes_to([](const auto& counts) { return counts.accepted == 1 && counts.open == 0; }));
  CHECK(client.read_all().size() < (32u << 20));
}

TEST_CASE("a refused client that goes on sending is read for a while only") {
  RunningServer server(test::echo, with([](http::Limits& limits) { limits.linger = 100ms; }));
  RawClient client(server.endpoint());
  client.send("broken\r\n\r\n");
  const auto begin = std::chrono::steady_clock::now();
  while (client.send(std::string(4096, 'x'), 1s) && std::chrono::steady_clock::now() - begin < test::kPatience)
    continue;
  CHECK(std::chrono::steady_clock::now() - begin < test::kPatience);
}

}  // namespace esper::test::server_abuse_test
