// Event streams, as the server sends them.
#include <catch2/catch_test_macros.hpp>
#include <chrono>
#include <memory>
#include <vector>

#include "http/client.h"
#include "http/event_reader.h"
#include "http/server.h"
#include "running_server.h"
#include "support/patience.h"

namespace esper::test::server_streams_test {

using namespace esper;
using namespace std::chrono_literals;
using test::RawClient;
using test::RunningServer;

namespace {

http::Response stream(const http::Request& request) {
  if (request.path != "/events") return test::echo(request);
  http::Response response;
  response.is_event_stream = true;
  return response;
}

http::EventReader open_stream(const http::Endpoint& endpoint) {
  auto reader = http::EventReader::open(endpoint, "/events", test::kPatience);
  INFO((reader ? "" : reader.error()));
  REQUIRE(reader);
  return *std::move(reader);
}

http::Event next_of(http::EventReader& reader) {
  auto event = reader.next(test::kPatience);
  INFO((event ? "" : event.error()));
  REQUIRE(event);
  REQUIRE(event->has_value());
  return **event;
}

}  // namespace

TEST_CASE("each stream gets each event in order, over both kinds of sockets") {
  RunningServer server(stream);
  auto local = open_stream(server.endpoint());
  auto tcp = open_stream(server.listen_loopback("secret"));
  REQUIRE(server.comes_to([](const auto& counts) { return counts.streams == 2; }));
  for (int i = 0; i < 500; ++i) server.publish({i, "epoch", "{\"loss\": " + std::to_string(i) + "}\nsecond line"});
  for (auto* reader : {&local, &tcp})
    for (int i = 0; i < 500; ++i)
      REQUIRE(next_of(*reader) == http::Event{i, "epoch", "{\"loss\": " + std::to_string(i) + "}\nsecond line"});
  const auto none = local.next(20ms);
  REQUIRE(none);
  CHECK(!none->has_value());
}

TEST_CASE("a stream whose client does not read is dropped, and the others go on") {
  RunningServer server(stream);
  RawClient deaf(server.endpoint());
  deaf.send("GET /events HTTP/1.1\r\nHost: x\r\n\r\n");
  auto reader = open_stream(server.endpoint());
  REQUIRE(server.comes_to([](const auto& counts) { return counts.streams == 2; }));
  const std::string data(100'000, 'x');
  for (int i = 0; i < 50; ++i) {
    server.publish({i, "", data});
    REQUIRE(next_of(reader).id == i);
  }
  CHECK(server.counts().dropped_streams == 1);
  CHECK(server.counts().streams == 1);
}

TEST_CASE("a client that reads gets all that is published in one turn of the loop, and in the next one") {
  RunningServer server(stream);
  auto reader = open_stream(server.endpoint());
  REQUIRE(server.comes_to([](const auto& counts) { return counts.streams == 1; }));
  const std::string data(1000, 'x');
  constexpr int kEvents = 5000;
  for (int burst = 0; burst < 2; ++burst) {
    server.on_loop([&](http::Server& s) {
      for (int i = 0; i < kEvents; ++i) s.publish({i, "", data});
    });
    for (int i = 0; i < kEvents; ++i) REQUIRE(next_of(reader).id == i);
  }
  CHECK(server.counts().dropped_streams == 0);
}

TEST_CASE("a burst has a limit, too") {
  http::ServerOptions options;
  options.limits.burst_event_bytes = 2u << 20;
  RunningServer server(stream, options);
  auto reader = open_stream(server.endpoint());
  REQUIRE(server.comes_to([](const auto& counts) { return counts.streams == 1; }));
  server.on_loop([](http::Server& s) {
    for (int i = 0; i < 50; ++i) s.publish({i, "", std::string(100'000, 'x')});
  });
  CHECK(server.counts().dropped_streams == 1);
}

TEST_CASE("a stream whose client stops reading is dropped at the deadline for writing, too") {
  http::ServerOptions options;
  options.limits.write = 100ms;
  options.limits.waiting_event_bytes = 64u << 20;
  RunningServer server(stream, options);
  RawClient deaf(server.endpoint());
  deaf.send("GET /events HTTP/1.1\r\nHost: x\r\n\r\n");
  REQUIRE(server.comes_to([](const auto& counts) { return counts.streams == 1; }));
  server.publish({1, "", std::string(16 << 20, 'x')});
  CHECK(server.comes_to([](const auto& counts) { return counts.open == 0 && counts.streams == 0; }));
}

TEST_CASE("streams get a comment now and then, so that both sides see that the other is there") {
  http::ServerOptions options;
  options.limits.heartbeat = 10ms;
  RunningServer server(stream, options);
  RawClient client(server.endpoint());
  client.send("GET /events HTTP/1.1\r\nHost: x\r\n\r\n");
  CHECK(test::has(client.read_until("\r\n\r\n"), "Content-Type: text/event-stream\r\n"));
  CHECK(client.read_until("\n\n") == ": alive\n\n");
  CHECK(client.read_until("\n\n") == ": alive\n\n");
}

TEST_CASE("streams cannot take all connections") {
  http::ServerOptions options;
  options.limits.streams = 2;
  RunningServer server(stream, options);
  auto first = open_stream(server.endpoint());
  auto second = std::make_unique<http::EventReader>(open_stream(server.endpoint()));
  const auto third = http::EventReader::open(server.endpoint(), "/events", test::kPatience);
  REQUIRE(!third);
  CHECK(third.error() ==
        "no event stream, but status 503: too many event streams: at most 2 at once; try again when one has ended");
  second.reset();
  REQUIRE(server.comes_to([](const auto& counts) { return counts.streams == 1; }));
  CHECK(http::EventReader::open(server.endpoint(), "/events", test::kPatience).has_value());
}

TEST_CASE("streams of the one kind of socket take none of the other's, and no connections of requests") {
  http::ServerOptions options;
  options.limits.streams = options.limits.connections = 2;
  RunningServer server(stream, options);
  std::vector<http::EventReader> local, tcp;
  const auto loopback = server.listen_loopback("secret");
  for (int i = 0; i < 2; ++i) {
    local.push_back(open_stream(server.endpoint()));
    tcp.push_back(open_stream(loopback));
  }
  REQUIRE(server.comes_to([](const auto& counts) { return counts.streams == 4; }));
  for (const http::Endpoint& endpoint : {server.endpoint(), http::Endpoint(loopback)}) {
    CHECK(!http::EventReader::open(endpoint, "/events", test::kPatience));
    const auto response = http::request(endpoint, "GET", "/", {}, test::kPatience);
    REQUIRE(response);
    CHECK(response->status == 200);
  }
}

TEST_CASE("HEAD of a stream gets its header alone") {
  RunningServer server(stream);
  const auto head = http::request(server.endpoint(), "HEAD", "/events", {}, test::kPatience);
  REQUIRE(head);
  CHECK(head->content_type == "text/event-stream");
  CHECK(server.counts().streams == 0);
}

TEST_CASE("the handler may publish while it answers") {
  http::Server* self = nullptr;
  RunningServer server([&](const http::Request& request) {
    if (request.path == "/say") self->publish({1, "said", request.body});
    return stream(request);
  });
  server.on_loop([&](http::Server& s) { self = &s; });
  auto reader = open_stream(server.endpoint());
  REQUIRE(http::request(server.endpoint(), "POST", "/say", "hello", test::kPatience));
  CHECK(next_of(reader) == http::Event{1, "said", "hello"});
}

TEST_CASE("a reader learns that the stream has ended") {
  RunningServer server(stream);
  auto reader = open_stream(server.endpoint());
  server.publish({1, "", "last"});
  server.on_loop([](http::Server& s) { s.close(); });
  CHECK(next_of(reader).data == "last");
  const auto end = reader.next(test::kPatience);
  REQUIRE(!end);
  CHECK(end.error() == "the server ended the stream");
}

}  // namespace esper::test::server_streams_test
