// The client against servers that misbehave: one connection, fixed bytes.
#include "http/client.h"

#include <fcntl.h>
#include <sys/socket.h>

#include <catch2/catch_test_macros.hpp>
#include <chrono>
#include <thread>

#include "base/text/timed_write.h"
#include "http/listening_socket.h"
#include "running_server.h"
#include "support/patience.h"

namespace esper::test::client_test {

using namespace esper;
using namespace std::chrono_literals;

namespace {

enum class Then { kClose, kWait };

// Answers with the given bytes. Goes on until the client has ended.
base::Expected<http::Response, http::RequestFailure> answered_with(std::string_view bytes, Then then,
                                                                   base::Duration timeout = test::kPatience,
                                                                   std::string_view method = "GET") {
  const test::TemporaryFolder folder;
  auto listening = http::listen_on_path(folder / "s");
  REQUIRE(listening);
  fcntl(listening->number(), F_SETFL, 0);
  std::thread server([&] {
    base::Descriptor connection(accept(listening->number(), nullptr, nullptr));
    char request[1000];
    (void)!recv(connection.number(), request, sizeof(request), 0);
    base::write_all(connection.number(), bytes, test::kPatience);
    if (then == Then::kClose) return;
    (void)!recv(connection.number(), request, sizeof(request), 0);
  });
  auto response = http::request(http::UnixEndpoint{folder / "s"}, method, "/", {}, timeout);
  server.join();
  return response;
}

}  // namespace

TEST_CASE("responses with a length, in chunks, up to the end of the connection, and without a body") {
  CHECK(answered_with("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nab", Then::kWait).value().body == "ab");
  CHECK(
      answered_with("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nab\r\n1\r\nc\r\n0\r\n\r\n", Then::kWait)
          .value()
          .body == "abc");
  CHECK(answered_with("HTTP/1.0 200 OK\r\n\r\nabc", Then::kClose).value().body == "abc");
  CHECK(answered_with("HTTP/1.1 204 No Content\r\n\r\n", Then::kWait).value().status == 204);
  CHECK(
      answered_with("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n", Then::kWait, test::kPatience, "HEAD").has_value());
}

TEST_CASE("what is no response, or no whole one, is a failure with its reason") {
  CHECK(answered_with("", Then::kClose).error().reason == "the server closed the connection without an answer");
  CHECK(test::has(answered_with("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nab", Then::kClose).error().reason,
                  "partial message"));
  CHECK(answered_with("SSH-2.0-OpenSSH\r\n", Then::kWait).error().reason.starts_with("the answer is not valid"));
  CHECK(test::has(answered_with("HTTP/1.1 200 OK\r\nX: " + std::string(20'000, 'x'), Then::kWait).error().reason,
                  "limit"));
  CHECK(test::has(answered_with("HTTP/1.1 200 OK\r\nContent-Length: 99999999999\r\n\r\n", Then::kWait).error().reason,
                  "limit"));
  CHECK(test::has(
      answered_with("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1;" + std::string(600'000, 'x'), Then::kWait)
          .error()
          .reason,
      "line is too long"));
}

TEST_CASE("a failure says whether the server may have had the request, and whether it answered") {
  using Stage = http::RequestStage;
  const test::TemporaryFolder folder;
  CHECK(http::request(http::UnixEndpoint{folder / "s"}, "GET", "/", {}, 1s).error().stage == Stage::kNotSent);
  CHECK(answered_with("", Then::kClose).error().stage == Stage::kNoAnswer);
  CHECK(answered_with("HTTP/1.1 200 OK\r\n", Then::kWait, 50ms).error().stage == Stage::kNoAnswer);
  CHECK(answered_with("SSH-2.0-OpenSSH\r\n", Then::kWait).error().stage == Stage::kInvalidAnswer);
}

TEST_CASE("a server that does not answer is waited for as long as the caller says") {
  for (const auto* begin : {"", "HTTP/1.1 200 OK\r\n", "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nab"})
    CHECK(answered_with(begin, Then::kWait, 50ms).error().reason == "no answer in time");
}

TEST_CASE("a server that does not even accept is waited for as long as the caller says") {
  const test::TemporaryFolder folder;
  const auto listening = http::listen_on_path(folder / "s");
  REQUIRE(listening);
  REQUIRE(listen(listening->number(), 0) == 0);
  const test::RawClient first(http::UnixEndpoint{folder / "s"});
  const auto response = http::request(http::UnixEndpoint{folder / "s"}, "GET", "/", {}, 50ms);
  REQUIRE(!response);
  CHECK(response.error().reason == "cannot connect to " + (folder / "s") + ": no answer in time");
}

TEST_CASE("a request that is not taken is given up") {
  const test::TemporaryFolder folder;
  const auto listening = http::listen_on_path(folder / "s");
  REQUIRE(listening);
  const auto response = http::request(http::UnixEndpoint{folder / "s"}, "POST", "/", std::string(8 << 20, 'x'), 100ms);
  REQUIRE(!response);
  CHECK(response.error().reason == "the server did not take the request in time");
  CHECK(response.error().stage == http::RequestStage::kNotSent);
}

TEST_CASE("a server that is not there, and words that would be two") {
  const test::TemporaryFolder folder;
  CHECK(http::request(http::UnixEndpoint{folder / "s"}, "GET", "/", {}, 1s).error().reason ==
        "cannot connect to " + (folder / "s") + ": No such file or directory");
  CHECK(http::request(http::LoopbackEndpoint{1, "t"}, "GET", "/", {}, 1s).error().reason ==
        "cannot connect to 127.0.0.1:1: Connection refused");
  CHECK(!http::request(http::UnixEndpoint{folder / "s"}, "GET", "/ HTTP/1.1\r\nX: y", {}, 1s));
  CHECK(!http::request(http::UnixEndpoint{folder / "s"}, "", "/", {}, 1s));
}

}  // namespace esper::test::client_test
