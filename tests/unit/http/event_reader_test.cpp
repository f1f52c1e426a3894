// The reader against servers that misbehave; with our own server: server_streams_test.cpp.
#include "http/event_reader.h"

#include <catch2/catch_test_macros.hpp>
#include <chrono>

#include "http/server.h"
#include "running_server.h"
#include "support/patience.h"

namespace esper::test::event_reader_test {

using namespace esper;
using namespace std::chrono_literals;
using test::RunningServer;

TEST_CASE("what is no event stream is refused with the server's reason") {
  RunningServer server([](const http::Request& request) {
    return request.path == "/page" ? http::Response{.body = "text"}
                                   : http::Response{.status = 404, .body = "no such job"};
  });
  CHECK(http::EventReader::open(server.endpoint(), "/page", test::kPatience).error() ==
        "no event stream, but status 200: text");
  CHECK(http::EventReader::open(server.endpoint(), "/none", test::kPatience).error() ==
        "no event stream, but status 404: no such job");
  CHECK(!http::EventReader::open(server.endpoint(), "/a b", test::kPatience));
  const http::LoopbackEndpoint wrong{server.listen_loopback("right").port, "wrong"};
  CHECK(test::has(http::EventReader::open(wrong, "/page", test::kPatience).error(), "status 401"));
}

TEST_CASE("an event that is too long ends the stream") {
  http::ServerOptions options;
  options.limits.waiting_event_bytes = 8u << 20;
  RunningServer server([](const http::Request&) { return http::Response{.is_event_stream = true}; }, options);
  auto reader = http::EventReader::open(server.endpoint(), "/", test::kPatience);
  REQUIRE(reader);
  server.publish({1, "", "short"});
  server.publish({2, "", std::string(3 << 20, 'x')});
  CHECK(reader->next(test::kPatience).value()->data == "short");
  const auto second = reader->next(test::kPatience);
  REQUIRE(!second);
  CHECK(second.error() == "an event has more than 1048576 bytes");
}

}  // namespace esper::test::event_reader_test
