#include "program/compile/compiler.h"

#include <signal.h>

#include <catch2/catch_test_macros.hpp>

#include "unit/program_compile/worker_fixture.h"

namespace esper::program {

using std::chrono::seconds;

TEST_CASE("a program is compiled, cached and found") {
  Service service;
  service.settings.torch_version = "";
  auto& compiler = service.start();
  CHECK(compiler.worker_group() == 0);  // nothing before the first submit
  const auto request = Service::request(1);
  compiler.submit(request);
  const auto outcome = compiler.wait(request.key, seconds(100));
  REQUIRE(outcome);
  INFO(outcome->reason);
  REQUIRE_FALSE(outcome->failure);
  CHECK(outcome->compile_ms > 0);
  const auto found = service.cache.find(request.key);
  REQUIRE(found);
  CHECK(found->bytes > 1000);
  const pid_t group = compiler.worker_group();
  service.compiler.reset();
  CHECK(group_is_gone(group, seconds(1)));
}

}  // namespace esper::program
