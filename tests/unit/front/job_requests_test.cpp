#include "esper/queue/job_requests.h"

#include <catch2/catch_test_macros.hpp>
#include <nlohmann/json.hpp>

namespace esper::test::job_requests_test {

using namespace esper;
using nlohmann::json;

TEST_CASE("a job that has ended exits as its training did, and not with 0 where it was left unfinished") {
  CHECK(exit_code_of({{"state", "succeeded"}, {"exit_code", 0}}) == 0);
  CHECK(exit_code_of({{"state", "diverged"}, {"exit_code", 4}}) == 4);
  CHECK(exit_code_of({{"state", "failed"}, {"exit_code", nullptr}}) == 6);
  CHECK(exit_code_of({{"state", "cancelled"}, {"exit_code", 0}}) == 130);
  const json left{{"state", "paused"}, {"ended_ms", 1}, {"exit_code", 0}};  // by its sweep, at a rung
  CHECK(has_ended(left));
  CHECK(exit_code_of(left) == 130);
  CHECK(!has_ended({{"state", "paused"}, {"ended_ms", 0}, {"exit_code", 0}}));
}

}  // namespace esper::test::job_requests_test
