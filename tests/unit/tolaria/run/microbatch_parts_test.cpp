#include "tolaria/run/microbatch_parts.h"

#include <catch2/catch_test_macros.hpp>

namespace esper::test::microbatch_parts_test {

using namespace esper;

TEST_CASE("the parts of a microbatch have its samples in order, and are marked as one microbatch") {
  std::vector<step::Microbatch> whole;
  for (const std::int64_t samples : {4, 1}) whole.push_back({at::randn({samples, 3}), at::arange(samples)});
  const auto parts = tolaria::in_parts(whole, 2);
  REQUIRE(parts.size() == 3);
  CHECK(at::equal(at::cat({parts[0].inputs, parts[1].inputs}), whole[0].inputs));
  CHECK(at::equal(at::cat({parts[0].targets, parts[1].targets}), whole[0].targets));
  CHECK(at::equal(parts[2].inputs, whole[1].inputs));
  CHECK((!parts[0].goes_on && parts[1].goes_on && !parts[2].goes_on));
  CHECK(step::count_whole(parts) == 2);
}

}  // namespace esper::test::microbatch_parts_test
