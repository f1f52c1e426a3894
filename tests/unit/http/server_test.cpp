// What a well-behaved client gets.
#include "http/server.h"

#include <sys/stat.h>
#include <unistd.h>

#include <catch2/catch_test_macros.hpp>
#include <cstddef>
#include <filesystem>
#include <functional>
#include <stdexcept>

#include "http/client.h"
#include "running_server.h"
#include "support/comes_true.h"
#include "support/patience.h"

namespace esper::test::server_test {

using namespace esper;
using test::RawClient;
using test::RunningServer;

namespace {

http::Response ask(const http::Endpoint& endpoint, std::string_view method, std::string_view target,
                   std::string_view body = {}) {
  auto response = http::request(endpoint, method, target, body, test::kPatience);
  INFO((response ? "" : response.error().reason));
  REQUIRE(response);
  return *response;
}

}  // namespace

TEST_CASE("a request arrives with method, path, query and body, over both kinds of sockets") {
  RunningServer server;
  const http::Endpoint endpoints[] = {server.endpoint(), server.listen_loopback("secret")};
  for (const auto& endpoint : endpoints) {
    CHECK(ask(endpoint, "GET", "/a%20b?x=1%2B1&y=a+b").body == "GET /a b x=1+1 y=a b ");
    CHECK(ask(endpoint, "POST", "/jobs", "{\"name\": 1}").body == "POST /jobs {\"name\": 1}");
    CHECK(ask(endpoint, "PURGE", "/").body == "PURGE / ");
    const std::string large(3 << 20, 'x');
    CHECK(ask(endpoint, "PUT", "/large", large).body == "PUT /large " + large);
  }
}

TEST_CASE("the handler sees who asks, and the headers that matter") {
  http::Request seen;
  RunningServer server([&](const http::Request& request) {
    seen = request;
    return http::Response{};
  });
  RawClient client(server.endpoint());
  client.send(
      "GET / HTTP/1.1\r\nHost: x\r\nContent-Type: text/csv\r\nAuthorization: Basic abc\r\nConnection: close\r\n\r\n");
  client.read_all();
  CHECK(seen.content_type == "text/csv");
  CHECK(seen.authorization == "Basic abc");
  CHECK(seen.peer.is_local);
  CHECK(seen.peer.uid == getuid());
  CHECK(seen.peer.pid == getpid());
  ask(server.listen_loopback("t"), "GET", "/");
  CHECK(!seen.peer.is_local);
}

TEST_CASE("status, type and headers of a response arrive") {
  RunningServer server([](const http::Request&) {
    return http::Response{.status = 404, .content_type = "text/html", .body = "gone", .headers = {{"X-A", "b"}}};
  });
  const auto response = ask(server.endpoint(), "GET", "/");
  CHECK(response.status == 404);
  CHECK(response.content_type == "text/html");
  CHECK(std::ranges::count(response.headers, std::pair<std::string, std::string>("X-A", "b")) == 1);
}

TEST_CASE("HEAD gets the header that GET gets, and no body") {
  RunningServer server;
  const auto head = ask(server.endpoint(), "HEAD", "/x");
  CHECK(head.body.empty());
  CHECK(std::ranges::count(head.headers, std::pair<std::string, std::string>("Content-Length", "7")) == 1);
  RawClient client(server.endpoint());
  client.send("HEAD / HTTP/1.1\r\nHost: x\r\n\r\nGET /2 HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n");
  const auto all = client.read_all();
  CHECK(!test::has(all, "GET / "));
  CHECK(all.ends_with("GET /2 "));
}

TEST_CASE("what the handler throws becomes a response 500 with the reason, and the server goes on") {
  RunningServer server([](const http::Request& request) -> http::Response {
    if (request.path == "/error") throw std::runtime_error("no \"disk\" \xff");
    if (request.path == "/number") throw 7;
    if (request.path == "/split") return {.headers = {{"X", "a\r\nSet-Cookie: b"}}};
    if (request.path == "/status") return {.status = 99};
    if (request.path == "/own") return {.headers = {{"content-length", "3"}}};
    return {};
  });
  const auto response = ask(server.endpoint(), "GET", "/error");
  CHECK(response.status == 500);
  CHECK(response.body == "{\"error\":\"no \\\"disk\\\" \xef\xbf\xbd\"}\n");
  for (const auto* path : {"/number", "/split", "/status", "/own"})
    CHECK(ask(server.endpoint(), "GET", path).status == 500);
  RawClient client(server.endpoint());
  client.send("GET /error HTTP/1.1\r\nHost: x\r\n\r\n");
  CHECK(test::has(client.read_all(), "Connection: close"));
  CHECK(ask(server.endpoint(), "GET", "/").status == 200);
}

TEST_CASE("while a handler answers in parts others are answered, and what it throws then becomes a response 500") {
  bool is_asked = false;  // on the loop's thread
  std::function<http::Response()> until_asked = [&]() -> http::Response {
    if (is_asked) return {.body = "after the other"};
    return {.later = until_asked};
  };
  RunningServer server([&](const http::Request& request) -> http::Response {
    if (request.path == "/parts") return until_asked();
    if (request.path == "/throws") return {.later = []() -> http::Response { throw std::runtime_error("in part 2"); }};
    is_asked = true;
    return {.body = "other"};
  });
  RawClient waiting(server.endpoint());
  waiting.send("GET /parts HTTP/1.1\r\nHost: x\r\n\r\nGET /last HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n");
  CHECK(ask(server.endpoint(), "GET", "/other").body == "other");
  const auto all = waiting.read_all();
  CHECK(test::has(all, "after the other"));
  CHECK(all.ends_with("other"));
  CHECK(ask(server.endpoint(), "GET", "/throws").status == 500);
}

TEST_CASE("an answer in parts that takes too long is cut off") {
  std::function<http::Response()> without_end = [&]() -> http::Response { return {.later = without_end}; };
  http::ServerOptions options;
  options.limits.answer = std::chrono::milliseconds(50);
  RunningServer server([&](const http::Request&) { return without_end(); }, options);
  RawClient client(server.endpoint());
  client.send("GET / HTTP/1.1\r\nHost: x\r\n\r\n");
  CHECK(client.is_closed_within(test::kPatience));
}

TEST_CASE("a server that is closed does not go on with an answer in parts") {
  std::size_t parts = 0;  // on the loop's thread
  std::function<http::Response()> without_end = [&]() -> http::Response {
    ++parts;
    return {.later = without_end};
  };
  RunningServer server([&](const http::Request&) { return without_end(); });
  RawClient client(server.endpoint());
  client.send("GET / HTTP/1.1\r\nHost: x\r\n\r\n");
  const auto num_parts = [&] {
    std::size_t now = 0;
    server.on_loop([&](http::Server&) { now = parts; });
    return now;
  };
  REQUIRE(test::comes_true([&] { return num_parts() > 0; }));
  std::size_t before = 0;
  server.on_loop([&](http::Server& s) {
    s.close();
    before = parts;
  });
  CHECK(client.is_closed_within(test::kPatience));
  CHECK(num_parts() == before);
}

TEST_CASE("pipelined requests are answered in their order") {
  RunningServer server;
  RawClient client(server.endpoint());
  std::string requests;
  for (int i = 0; i < 300; ++i)
    requests += "POST /" + std::to_string(i) + " HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\n\r\nab";
  client.send(requests + "GET /end HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n");
  const auto all = client.read_all();
  std::size_t place = 0;
  for (int i = 0; i < 300; ++i) {
    place = all.find("POST /" + std::to_string(i) + " ab", place);
    REQUIRE(place != all.npos);
  }
  CHECK(all.ends_with("GET /end "));
}

TEST_CASE("bodies in chunks, also in pieces of single bytes") {
  RunningServer server;
  RawClient client(server.endpoint());
  const std::string request =
      "POST /c HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\nConnection: close\r\n\r\n"
      "5;note=1\r\nhello\r\n6\r\n world\r\n0\r\nX-Trailer: 1\r\n\r\n";
  for (const char c : request) REQUIRE(client.send(std::string_view(&c, 1)));
  CHECK(client.read_all().ends_with("POST /c hello world"));
}

TEST_CASE("a client that asks whether to send its body is told to") {
  RunningServer server;
  RawClient client(server.endpoint());
  client.send("POST /e HTTP/1.1\r\nHost: x\r\nExpect: 100-continue\r\nContent-Length: 3\r\nConnection: close\r\n\r\n");
  CHECK(client.read_until("\r\n\r\n") == "HTTP/1.1 100 Continue\r\n\r\n");
  client.send("abc");
  CHECK(client.read_all().ends_with("POST /e abc"));
}

TEST_CASE("HTTP/1.0 works, and its connection is closed") {
  RunningServer server;
  RawClient client(server.endpoint());
  client.send("GET /old HTTP/1.0\r\n\r\n");
  CHECK(client.read_all().ends_with("GET /old "));
}

TEST_CASE("only peers that are admitted are served on a unix socket") {
  std::size_t calls = 0;
  http::ServerOptions options;
  options.admits = [&](const http::Peer& peer) { return ++calls, peer.uid != getuid(); };
  RunningServer server(test::echo, options);
  CHECK(!http::request(server.endpoint(), "GET", "/", {}, test::kPatience));
  CHECK(server.counts().refused_peers == 1);
  CHECK(server.counts().accepted == 0);
  CHECK(calls == 1);
}

TEST_CASE("the owner and root are admitted") {
  CHECK(http::is_owner_or_root({.is_local = true, .uid = geteuid(), .pid = 1}));
  CHECK(http::is_owner_or_root({.is_local = true, .uid = 0, .pid = 1}));
  CHECK(!http::is_owner_or_root({.is_local = true, .uid = geteuid() + 1, .pid = 1}));
  CHECK(!http::is_owner_or_root({}));
}

TEST_CASE("close ends connections and removes the socket file") {
  RunningServer server;
  const auto path = std::get<http::UnixEndpoint>(server.endpoint()).path;
  RawClient client(server.endpoint());
  CHECK(std::filesystem::exists(path));
  server.on_loop([](http::Server& s) { s.close(); });
  CHECK(client.is_closed_within(test::kPatience));
  CHECK(!std::filesystem::exists(path));
}

TEST_CASE("the handler may close the server") {
  http::Server* self = nullptr;
  RunningServer server([&](const http::Request&) {
    self->close();
    return http::Response{};
  });
  server.on_loop([&](http::Server& s) { self = &s; });
  CHECK(!http::request(server.endpoint(), "GET", "/", {}, test::kPatience));
}

}  // namespace esper::test::server_test
