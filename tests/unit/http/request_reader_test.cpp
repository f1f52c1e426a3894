#include "http/request_reader.h"

#include <sys/socket.h>

#include <boost/asio/buffer.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/read_until.hpp>
#include <boost/asio/write.hpp>
#include <catch2/catch_test_macros.hpp>
#include <stdexcept>
#include <string>
#include <string_view>

namespace esper::test::request_reader_test {

using namespace esper;

namespace {

http::Limits small() {
  http::Limits limits;
  limits.header_bytes = 256;
  limits.body_bytes = 16;
  return limits;
}

// A reader at the one end of a pair of sockets, a client at the other.
struct Pair {
  boost::asio::io_context loop;
  http::Socket client{loop}, server{loop};
  http::Limits limits = small();
  http::RequestReader reader{server, limits};

  Pair() {
    int ends[2];
    if (socketpair(AF_UNIX, SOCK_STREAM, 0, ends) != 0) throw std::runtime_error("no pair of sockets");
    const boost::asio::generic::stream_protocol protocol(AF_UNIX, 0);
    client.assign(protocol, ends[0]);
    server.assign(protocol, ends[1]);
  }
  void send(std::string_view bytes) { boost::asio::write(client, boost::asio::buffer(bytes.data(), bytes.size())); }
  void turn() {
    loop.restart();
    loop.poll();
  }
  // What `read` comes to; "unfinished" where it waits for more of the client.
  std::string outcome(void (http::RequestReader::*read)(http::RequestReader::Done)) {
    std::string result = "unfinished";
    (reader.*read)([&result](const std::optional<http::Refusal>& failure) {
      result = failure ? std::to_string(failure->status) : "read";
    });
    turn();
    return result;
  }
  std::string header() { return outcome(&http::RequestReader::read_header); }
  std::string body() { return outcome(&http::RequestReader::read_body); }
};

}  // namespace

TEST_CASE("requests that arrive together are read one after the other") {
  Pair pair;
  pair.send("POST /a HTTP/1.1\r\nContent-Length: 3\r\n\r\nabcGET /b HTTP/1.1\r\n\r\n");
  pair.reader.begin_request();
  CHECK_FALSE(pair.reader.has_input());
  CHECK(pair.outcome(&http::RequestReader::wait_for_input) == "read");
  CHECK(pair.reader.has_input());
  CHECK(pair.header() == "read");
  CHECK(pair.reader.message().target() == "/a");
  CHECK(pair.body() == "read");
  CHECK(pair.reader.take_body() == "abc");
  pair.reader.begin_request();
  CHECK(pair.reader.has_input());
  CHECK(pair.header() == "read");
  CHECK(pair.reader.message().target() == "/b");
  CHECK(pair.body() == "read");
  CHECK(pair.reader.take_body().empty());
  CHECK_FALSE(pair.reader.has_input());
}

TEST_CASE("a client that waits for it is asked for the body, once the header was read") {
  Pair pair;
  pair.send("POST / HTTP/1.1\r\nExpect: 100-continue\r\nContent-Length: 2\r\n\r\n");
  pair.reader.begin_request();
  REQUIRE(pair.header() == "read");
  CHECK(pair.client.available() == 0);
  std::string outcome = "unfinished";
  pair.reader.read_body([&outcome](const std::optional<http::Refusal>& failure) {
    outcome = failure ? std::to_string(failure->status) : "read";
  });
  pair.turn();
  CHECK(outcome == "unfinished");
  std::string answer;
  boost::asio::read_until(pair.client, boost::asio::dynamic_buffer(answer), "\r\n\r\n");
  CHECK(answer == "HTTP/1.1 100 Continue\r\n\r\n");
  pair.send("ok");
  pair.turn();
  CHECK(outcome == "read");
  CHECK(pair.reader.take_body() == "ok");
}

TEST_CASE("a client of HTTP/1.0 is never asked for the body: it would take that for the response") {
  Pair pair;
  pair.send("POST / HTTP/1.0\r\nExpect: 100-continue\r\nContent-Length: 2\r\n\r\nok");
  pair.reader.begin_request();
  REQUIRE(pair.header() == "read");
  CHECK(pair.body() == "read");
  CHECK(pair.reader.take_body() == "ok");
  CHECK(pair.client.available() == 0);
}

TEST_CASE("what is no request within the limits has the status to answer with") {
  const auto status_of = [](const std::string& bytes) {
    Pair pair;
    pair.send(bytes);
    pair.reader.begin_request();
    const std::string header = pair.header();
    return header == "read" ? pair.body() : header;
  };
  CHECK(status_of("GET\r\n\r\n") == "400");
  CHECK(status_of("GET / HTTP/1.1\r\nX: " + std::string(1000, 'x') + "\r\n\r\n") == "431");
  CHECK(status_of("POST / HTTP/1.1\r\nContent-Length: 17\r\n\r\n") == "413");
  CHECK(status_of("POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n20\r\n" + std::string(32, 'x')) == "413");
  CHECK(status_of("POST / HTTP/1.1\r\nContent-Length: 16\r\n\r\n") == "unfinished");
}

TEST_CASE("where the client has gone, or the socket is closed here, nobody is left to answer") {
  Pair gone;
  gone.client.close();
  gone.reader.begin_request();
  CHECK(gone.outcome(&http::RequestReader::wait_for_input) == "0");
  CHECK(gone.header() == "0");
  Pair closed;
  closed.server.close();
  closed.reader.begin_request();
  CHECK(closed.header() == "0");
}

TEST_CASE("input is discarded until the client closes") {
  Pair pair;
  bool has_ended = false;
  pair.send(std::string(10'000, 'x'));
  pair.reader.discard([&has_ended] { has_ended = true; });
  pair.turn();
  CHECK_FALSE(has_ended);
  CHECK_FALSE(pair.reader.has_input());
  pair.client.close();
  pair.turn();
  CHECK(has_ended);
}

}  // namespace esper::test::request_reader_test
