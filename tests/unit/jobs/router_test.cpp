#include "jobs/api/router.h"

#include <catch2/catch_test_macros.hpp>

namespace esper::test::router_test {

using namespace esper;
using jobs::Router;

namespace {

http::Request request(const std::string& method, const std::string& path) {
  http::Request made;
  made.method = method;
  made.path = path;
  return made;
}

}  // namespace

TEST_CASE("a request is answered by the route of its method and path, which gets the number of the path") {
  Router router;
  std::int64_t got = -1;
  const auto remember = [&](const http::Request&, std::int64_t id) {
    got = id;
    return http::Response{.status = 204};
  };
  router.add("GET", "/v1/jobs", remember);
  router.add("POST", "/v1/jobs/{id}/cancel", remember);
  CHECK(router.answer(request("GET", "/v1/jobs")).status == 204);
  CHECK(got == 0);
  CHECK(router.answer(request("POST", "/v1/jobs/12/cancel")).status == 204);
  CHECK(got == 12);
}

TEST_CASE("what has no route is 404, what has another method is 405 and says which") {
  Router router;
  router.add("GET", "/v1/jobs/{id}", [](const http::Request&, std::int64_t) { return http::Response{}; });
  router.add("PATCH", "/v1/jobs/{id}", [](const http::Request&, std::int64_t) { return http::Response{}; });
  for (const char* path : {"/", "/v1", "/v1/jobs", "/v1/jobs/", "/v1/jobs/0", "/v1/jobs/-1", "/v1/jobs/1x",
                           "/v1/jobs/1/", "/v1/jobs/1/2", "/v1/jobs/99999999999999999999", "v1/jobs/1"}) {
    CAPTURE(path);
    CHECK(router.answer(request("GET", path)).status == 404);
  }
  const auto refused = router.answer(request("DELETE", "/v1/jobs/1"));
  CHECK(refused.status == 405);
  REQUIRE(refused.headers.size() == 1);
  CHECK(refused.headers[0] == std::pair<std::string, std::string>{"Allow", "GET, PATCH"});
}

}  // namespace esper::test::router_test
