// Random bytes, and requests with random changes: every one is answered or closed, and the server goes on.
#include <catch2/catch_test_macros.hpp>
#include <random>

#include "http/client.h"
#include "http/server.h"
#include "running_server.h"
#include "support/patience.h"

namespace esper::test::server_fuzz_test {

using namespace esper;

namespace {

constexpr int kStrings = 20'000;

const std::vector<std::string> kSeeds = {
    "GET /a?b=c&d=%41 HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer secret\r\n\r\n",
    "POST /x HTTP/1.1\r\nHost: localhost\r\nContent-Length: 5\r\nExpect: 100-continue\r\n\r\nhello",
    "POST /x HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n",
    "GET / HTTP/1.1\r\nHost: x\r\n\r\nHEAD / HTTP/1.0\r\n\r\n",
    "GET /events HTTP/1.1\r\nHost: x\r\nAccept: text/event-stream\r\n\r\n",
};

std::string random_bytes(std::mt19937& random) {
  std::string bytes(random() % 200, '\0');
  for (char& byte : bytes) byte = static_cast<char>(random());
  return bytes;
}

std::string changed_request(std::mt19937& random) {
  std::string text = kSeeds[random() % kSeeds.size()];
  for (auto changes = 1 + random() % 4; changes > 0; --changes) {
    const auto place = random() % text.size();
    switch (random() % 4) {
      case 0:
        text[place] = static_cast<char>(random());
        break;
      case 1:
        text.erase(place, 1 + random() % 8);
        break;
      case 2:
        text.insert(place, text.substr(random() % text.size(), 1 + random() % 20));
        break;
      default:
        text.insert(place, 1, "\r\n\0 :%"[random() % 6]);
    }
    if (text.empty()) text = "x";
  }
  return text;
}

http::Response echo_or_stream(const http::Request& request) {
  auto response = test::echo(request);
  response.is_event_stream = request.path == "/events";
  return response;
}

}  // namespace

TEST_CASE("20,000 strings of random bytes and changed requests are survived") {
  test::RunningServer server(echo_or_stream);
  const http::Endpoint tcp = server.listen_loopback("secret");
  std::mt19937 random(20261124);
  std::size_t answers = 0;
  for (int i = 0; i < kStrings; ++i) {
    const auto text = i % 2 == 0 ? random_bytes(random) : changed_request(random);
    INFO("string " << i << ": " << text);
    test::RawClient client(i % 8 == 7 ? tcp : server.endpoint());
    client.send(text);
    client.end_input();
    const auto answer = client.read_all();
    REQUIRE((answer.empty() || answer.starts_with("HTTP/1.1 ")));
    REQUIRE(!test::has(answer, "did not close"));
    if (!answer.empty()) ++answers;
  }
  CHECK(answers > kStrings / 2);
  CHECK(server.comes_to([](const auto& counts) { return counts.open == 0 && counts.streams == 0; }));
  CHECK(http::request(server.endpoint(), "GET", "/", {}, test::kPatience).has_value());
}

}  // namespace esper::test::server_fuzz_test
