#include "jobs/daemon/daemon_server.h"

#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers.hpp>
#include <catch2/matchers/catch_matchers_exception.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <chrono>
#include <future>

#include "base/error.h"
#include "http/event_reader.h"
#include "support/patience.h"
#include "support/temporary_folder.h"

namespace esper::test::daemon_server_test {

using namespace esper;
using namespace std::chrono_literals;
using Catch::Matchers::MessageMatches;
using Catch::Matchers::StartsWith;

namespace {

http::Response stream(const http::Request&) { return {.is_event_stream = true}; }

// The first one that a client gets.
base::Expected<std::optional<http::Event>> first_event(const std::string& socket) {
  auto reader = http::EventReader::open(http::UnixEndpoint{socket}, "/", test::kPatience);
  if (!reader) return base::failure(reader.error());
  return reader->next(test::kPatience);
}

}  // namespace

TEST_CASE("events that nobody listens to have ids, but no data") {
  const test::TemporaryFolder folder;
  boost::asio::io_context loop;
  jobs::DaemonServer server(loop, stream);
  server.listen(folder / "socket", std::nullopt);
  int built = 0;
  const auto publish = [&] { server.publish("job", [&] { return nlohmann::json{{"built", ++built}}; }); };
  publish();
  publish();
  CHECK(built == 0);

  auto first = std::async(std::launch::async, [&] { return first_event(folder / "socket"); });
  while (!server.has_listeners()) REQUIRE(loop.run_one_for(test::kPatience) == 1);
  publish();
  while (first.wait_for(0s) != std::future_status::ready) loop.run_one_for(1ms);
  const auto event = first.get();
  REQUIRE(event);
  CHECK(*event == http::Event{3, "job", R"({"built":1})"});
}

TEST_CASE("where it cannot listen is an error that says so") {
  const test::TemporaryFolder folder;
  boost::asio::io_context loop;
  jobs::DaemonServer server(loop, stream);
  CHECK_THROWS_AS(server.listen(folder / "no folder/socket", std::nullopt), base::Error);

  http::Server other(loop, stream);
  const auto taken = other.listen_loopback(0, "a token of another");
  REQUIRE(taken);
  CHECK_THROWS_MATCHES(server.listen(folder / "socket", jobs::LoopbackFacts{*taken, folder / "token"}), base::Error,
                       MessageMatches(StartsWith("http.port: ")));
}

}  // namespace esper::test::daemon_server_test
