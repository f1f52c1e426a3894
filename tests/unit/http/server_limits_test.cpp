// What is too large or malformed.
#include <catch2/catch_test_macros.hpp>

#include "http/client.h"
#include "http/server.h"
#include "running_server.h"
#include "support/patience.h"

namespace esper::test::server_limits_test {

using namespace esper;
using test::RawClient;
using test::RunningServer;

namespace {

std::string first_line_after(RunningServer& server, std::string_view bytes) {
  RawClient client(server.endpoint());
  client.send(bytes);
  client.end_input();
  const auto all = client.read_all();
  return all.substr(0, all.find("\r\n"));
}

constexpr std::string_view kBad = "HTTP/1.1 400 Bad Request";

}  // namespace

TEST_CASE("malformed requests get 400, and the connection is closed") {
  RunningServer server;
  for (const std::string_view request :
       {"\x16\x03\x01\x02\x01\x01\xfc\x03\x03",
        "GET\r\n\r\n",
        "GET / HTTP/9.9\r\n\r\n",
        "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
        "GET / HTTP/1.1\r\nbroken\r\n\r\n",
        "GET / HTTP/1.1\r\nHost : x\r\n\r\n",
        "GET x HTTP/1.1\r\n\r\n",
        "GET http://x/ HTTP/1.1\r\n\r\n",
        "GET /%zz HTTP/1.1\r\n\r\n",
        "GET /%00 HTTP/1.1\r\n\r\n",
        "GET /?a=1&a=2 HTTP/1.1\r\n\r\n",
        "GET /%ff HTTP/1.1\r\n\r\n",
        "GET / HTTP/1.1\r\nHost: x\r\n",
        "POST / HTTP/1.1\r\nContent-Length: x\r\n\r\n",
        "POST / HTTP/1.1\r\nContent-Length: -1\r\n\r\n",
        "POST / HTTP/1.1\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nab",
        "POST / HTTP/1.1\r\nContent-Length: 5\r\n\r\nab",
        "POST / HTTP/1.1\r\nContent-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
        "POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n",
        "POST / HTTP/1.1\r\nTransfer-Encoding: gzip\r\n\r\n",
        "POST / HTTP/1.1\r\nTransfer-Encoding: gzip\r\nContent-Length: 2\r\n\r\nab",
        "POST / HTTP/1.1\r\nTransfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n",
        "POST / HTTP/1.1\r\nTransfer-Encoding: chunked, gzip\r\n\r\n0\r\n\r\n",
        "POST / HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n"}) {
    INFO(request);
    CHECK(first_line_after(server, request) == kBad);
  }
}

TEST_CASE("a header that is too large gets 431") {
  RunningServer server;
  const std::string fits = "GET / HTTP/1.1\r\nX: " + std::string(16'000, 'x') + "\r\n\r\n";
  CHECK(first_line_after(server, fits) == "HTTP/1.1 200 OK");
  const std::string large = "GET / HTTP/1.1\r\nX: " + std::string(17'000, 'x') + "\r\n\r\n";
  CHECK(first_line_after(server, large) == "HTTP/1.1 431 Request Header Fields Too Large");
  CHECK(first_line_after(server, "GET /" + std::string(1 << 20, 'x')) ==
        "HTTP/1.1 431 Request Header Fields Too Large");
}

TEST_CASE("a body that is too large gets 413, by its announced length and in chunks") {
  http::ServerOptions options;
  options.limits.body_bytes = 1000;
  RunningServer server(test::echo, options);
  const auto with_length = [](int length) {
    return "POST / HTTP/1.1\r\nContent-Length: " + std::to_string(length) + "\r\n\r\n" + std::string(length, 'x');
  };
  CHECK(first_line_after(server, with_length(1000)) == "HTTP/1.1 200 OK");
  CHECK(first_line_after(server, with_length(1001)) == "HTTP/1.1 413 Payload Too Large");
  CHECK(first_line_after(server, with_length(1 << 20)) == "HTTP/1.1 413 Payload Too Large");
  std::string chunks = "POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n";
  for (int i = 0; i < 11; ++i) chunks += "64\r\n" + std::string(100, 'x') + "\r\n";
  CHECK(first_line_after(server, chunks) == "HTTP/1.1 413 Payload Too Large");
}

TEST_CASE("a client that is still sending gets the refusal all the same") {
  RunningServer server;
  const auto endpoint = server.listen_loopback("secret");
  for (int i = 0; i < 20; ++i) {
    const auto response = http::request(http::LoopbackEndpoint{endpoint.port, "wrong"}, "POST", "/",
                                        std::string(4 << 20, 'x'), test::kPatience);
    INFO((response ? "" : response.error().reason));
    REQUIRE(response);
    CHECK(response->status == 401);
  }
}

TEST_CASE("a refusal ends in a closed connection, not in a broken one, although not all that was sent is read") {
  RunningServer server;
  const http::Endpoint endpoints[] = {server.endpoint(), server.listen_loopback("secret")};
  for (const auto& endpoint : endpoints) {
    RawClient client(endpoint);
    client.send("POST / HTTP/1.1\r\nContent-Length: 10000000\r\n\r\n" + std::string(100'000, 'x'));
    client.end_input();
    const auto all = client.read_all();
    CHECK(all.ends_with("}\n"));
  }
}

}  // namespace esper::test::server_limits_test
