#include "http/response_text.h"

#include <catch2/catch_test_macros.hpp>

#include "running_server.h"

namespace esper::test::response_text_test {

using namespace esper;
using namespace esper::http;

TEST_CASE("the head of a response") {
  CHECK(response_head(
            {.status = 404, .content_type = "text/plain", .body = "abc", .headers = {{"Cache-Control", "max-age=9"}}},
            AfterResponse::kKeepOpen) ==
        "HTTP/1.1 404 Not Found\r\nContent-Type: text/plain\r\nContent-Length: 3\r\nX-Content-Type-Options: nosniff\r\n"
        "Referrer-Policy: no-referrer\r\nCache-Control: max-age=9\r\nConnection: keep-alive\r\n\r\n");
  const auto stream = response_head({.is_event_stream = true}, AfterResponse::kClose);
  CHECK(test::has(stream, "Content-Type: text/event-stream\r\n"));
  CHECK(!test::has(stream, "Content-Length"));
  CHECK(stream.ends_with("Connection: close\r\n\r\n"));
  CHECK(!test::has(response_head({.status = 204}, AfterResponse::kKeepOpen), "Content-Length"));
}

TEST_CASE("a head that would be two is our own mistake") {
  const auto head = [](const Response& response) { return response_head(response, AfterResponse::kClose); };
  CHECK_THROWS(head({.content_type = "a\nb"}));
  CHECK_THROWS(head({.headers = {{"a b", ""}}}));
  CHECK_THROWS(head({.headers = {{"", "x"}}}));
  CHECK_THROWS(head({.headers = {{"a", "x\ry"}}}));
  CHECK_THROWS(head({.headers = {{"CONTENT-length", "3"}}}));
  CHECK_THROWS(head({.status = 100}));
  CHECK_THROWS(head({.status = 600}));
}

TEST_CASE("an error is JSON, whatever its text") {
  CHECK(error_response(400, "a \"b\"\n\xff").body == "{\"error\":\"a \\\"b\\\"\\n\xef\xbf\xbd\"}\n");
  CHECK(error_response(401, "").headers.front().first == "WWW-Authenticate");
}

}  // namespace esper::test::response_text_test
