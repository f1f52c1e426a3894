// Who is let in over TCP.
#include <catch2/catch_test_macros.hpp>

#include "http/client.h"
#include "http/server.h"
#include "running_server.h"
#include "support/patience.h"

namespace esper::test::server_loopback_test {

using namespace esper;
using test::RawClient;
using test::RunningServer;

namespace {

std::string status_line(const http::Endpoint& endpoint, const std::string& request_line, const std::string& headers) {
  RawClient client(endpoint);
  client.send(request_line + " HTTP/1.1\r\n" + headers + "Connection: close\r\n\r\n");
  const auto all = client.read_all();
  return all.substr(0, all.find("\r\n"));
}

}  // namespace

TEST_CASE("over TCP the token, Host and Origin decide") {
  RunningServer server;
  const auto endpoint = server.listen_loopback("secret");
  const std::string host = "Host: 127.0.0.1:" + std::to_string(endpoint.port) + "\r\n";
  const std::string token = "Authorization: Bearer secret\r\n";
  const auto get = [&](const std::string& headers, const std::string& target = "/x") {
    return status_line(endpoint, "GET " + target, headers);
  };
  CHECK(get(host + token) == "HTTP/1.1 200 OK");
  CHECK(get("Host: localhost\r\n" + token) == "HTTP/1.1 200 OK");
  CHECK(get(host) == "HTTP/1.1 401 Unauthorized");
  CHECK(get(host + "Authorization: Bearer wrong!\r\n") == "HTTP/1.1 401 Unauthorized");
  CHECK(get("Host: evil.example\r\n" + token) == "HTTP/1.1 403 Forbidden");
  CHECK(get(host + "Host: evil.example\r\n" + token) == "HTTP/1.1 400 Bad Request");
  CHECK(get(token) == "HTTP/1.1 400 Bad Request");
  CHECK(get(host + token + "Origin: http://evil.example\r\n") == "HTTP/1.1 403 Forbidden");
  CHECK(get(host + token + "Origin: null\r\n") == "HTTP/1.1 403 Forbidden");
  CHECK(get(host + token + "Origin: http://127.0.0.1:" + std::to_string(endpoint.port) + "\r\n") == "HTTP/1.1 200 OK");
  CHECK(get(host + token + "Origin: http://127.0.0.1:1\r\n") == "HTTP/1.1 403 Forbidden");
  CHECK(server.counts().refused_access == 6);
}

TEST_CASE("the page is opened with the token in its address, nothing else is, and the handler does not see it") {
  RunningServer server;
  const auto endpoint = server.listen_loopback("secret");
  const std::string host = "Host: localhost\r\n";
  RawClient client(endpoint);
  client.send("GET /?token=secret&a=1 HTTP/1.1\r\n" + host + "Connection: close\r\n\r\n");
  const auto all = client.read_all();
  CHECK(all.ends_with("\r\n\r\nGET / a=1 "));
  CHECK(test::has(all, "Referrer-Policy: no-referrer\r\n"));
  CHECK(status_line(endpoint, "GET /?token=wrong!", host) == "HTTP/1.1 401 Unauthorized");
  CHECK(status_line(endpoint, "POST /?token=secret", host) == "HTTP/1.1 401 Unauthorized");
  CHECK(status_line(endpoint, "GET /jobs?token=secret", host) == "HTTP/1.1 401 Unauthorized");
}

TEST_CASE("who is refused did not get its body read") {
  RunningServer server;
  const auto endpoint = server.listen_loopback("secret");
  RawClient client(endpoint);
  client.send("POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1000000\r\n\r\n");
  CHECK(client.read_until("\r\n") == "HTTP/1.1 401 Unauthorized\r\n");
}

TEST_CASE("a port that is in use is an error that names it") {
  RunningServer server;
  const auto endpoint = server.listen_loopback("secret");
  server.on_loop([&](http::Server& s) {
    const auto second = s.listen_loopback(endpoint.port, "secret");
    REQUIRE(!second);
    CHECK(second.error() == "cannot listen on 127.0.0.1:" + std::to_string(endpoint.port) + ": Address already in use");
    CHECK_THROWS(s.listen_loopback(0, ""));
  });
}

}  // namespace esper::test::server_loopback_test
