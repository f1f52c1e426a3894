#include "http/access.h"

#include <catch2/catch_test_macros.hpp>

namespace esper::test::access_test {

using namespace esper::http;

namespace {

Credentials good() {
  return {.method = "GET",
          .path = "/x",
          .query_token = std::nullopt,
          .authorization = "Bearer secret",
          .host = "127.0.0.1:8080",
          .origin = std::nullopt};
}

int status(const Credentials& credentials) {
  const auto refusal = check_loopback_access(credentials, "secret");
  return refusal ? refusal->status : 200;
}

}  // namespace

TEST_CASE("the token must be right, whole, and of the right scheme") {
  auto credentials = good();
  CHECK(status(credentials) == 200);
  for (const auto* text : {"", "Bearer", "Bearer ", "Bearer secre", "Bearer secrets", "Bearer Secret", "Basic secret",
                           "secret", "Bearer  secret"}) {
    INFO(text);
    credentials.authorization = text;
    CHECK(status(credentials) == 401);
  }
  credentials.authorization = "bearer secret";
  CHECK(status(credentials) == 200);
  CHECK_THROWS(check_loopback_access(good(), ""));
}

TEST_CASE("a token in the query opens the page alone") {
  auto credentials = good();
  credentials.authorization = {};
  credentials.query_token = "secret";
  CHECK(status(credentials) == 401);
  credentials.path = "/";
  CHECK(status(credentials) == 200);
  credentials.method = "POST";
  CHECK(status(credentials) == 401);
  credentials = {
      .method = "GET", .path = "/", .query_token = "wrong!", .authorization = {}, .host = "localhost", .origin = {}};
  CHECK(status(credentials) == 401);
  credentials.query_token = "secret";
  credentials.authorization = "Bearer wrong!";
  CHECK(status(credentials) == 401);
}

TEST_CASE("Host must name the loopback interface") {
  auto credentials = good();
  for (const auto* host : {"localhost", "LOCALHOST:1", "127.0.0.1", "127.0.0.1:65535"}) {
    credentials.host = host;
    CHECK(status(credentials) == 200);
  }
  for (const auto* host :
       {"", "evil.example", "localhost.evil.example", "127.0.0.1.evil.example", "localhost:", "localhost:x",
        "127.0.0.1:123456", "[::1]", "127.0.0.2", "localhost@evil", "localhost:80:80"}) {
    INFO(host);
    credentials.host = host;
    CHECK(status(credentials) == 403);
  }
  credentials.host = std::nullopt;
  CHECK(status(credentials) == 400);
}

TEST_CASE("Origin must be Host's") {
  auto credentials = good();
  credentials.origin = "http://127.0.0.1:8080";
  CHECK(status(credentials) == 200);
  for (const auto* origin : {"", "null", "http://evil.example", "https://127.0.0.1:8080", "http://127.0.0.1:8081",
                             "http://localhost:8080", "http://127.0.0.1:8080.evil.example"}) {
    INFO(origin);
    credentials.origin = origin;
    CHECK(status(credentials) == 403);
  }
}

TEST_CASE("secrets are the same or not") {
  CHECK(is_same_secret("", ""));
  CHECK(is_same_secret("abc", "abc"));
  CHECK(!is_same_secret("abc", "abd"));
  CHECK(!is_same_secret("bbc", "abc"));
  CHECK(!is_same_secret("abc", "ab"));
}

}  // namespace esper::test::access_test
