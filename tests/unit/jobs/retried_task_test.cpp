#include "jobs/queue/retried_task.h"

#include <catch2/catch_test_macros.hpp>
#include <chrono>

#include "base/error.h"

namespace esper::test::retried_task_test {

using namespace esper;
using namespace std::chrono_literals;

TEST_CASE("the loop calls a task once for all requests of a turn, and again for a request that it makes itself") {
  boost::asio::io_context loop;
  int calls = 0;
  jobs::RetriedTask task(loop, [&] {
    if (++calls == 1) task.request();
  });
  task.request();
  task.request();
  CHECK(calls == 0);
  loop.run();
  CHECK(calls == 2);
}

TEST_CASE("a task that fails is called again after a second, until it does not") {
  boost::asio::io_context loop;
  int calls = 0;
  jobs::RetriedTask task(loop, [&] {
    if (++calls == 1) throw base::Error(base::ExitCode::kResources, "disk full");
  });
  const auto begin = std::chrono::steady_clock::now();
  task.request();
  loop.run();
  CHECK(calls == 2);
  CHECK(std::chrono::steady_clock::now() - begin >= 1s);
}

TEST_CASE("a task that finds a mistake of the program is not called again") {
  boost::asio::io_context loop;
  jobs::RetriedTask task(loop, [] { throw base::Error(base::ExitCode::kBug, "impossible"); });
  task.request();
  CHECK_THROWS_AS(loop.run(), base::Error);
}

}  // namespace esper::test::retried_task_test
