#include "config/fields/field_differences.h"

#include <catch2/catch_test_macros.hpp>

namespace esper::config::field_differences_test {

TEST_CASE("fields that differ in any of the configurations come with all their values") {
  RunConfig first, second, third;
  second.seed = 7;
  third.training.optimizer.lr = 0.5;
  const auto fields = differing_fields({first, second, third});
  REQUIRE(fields.size() == 2);
  CHECK(fields[0].path == "seed");
  CHECK(fields[0].yaml == std::vector<std::string>{"1337", "7", "1337"});
  CHECK(fields[0].json[1] == 7);
  CHECK(fields[1].path == "training.optimizer.lr");
  CHECK(fields[1].yaml[2] == "0.5");
  CHECK(differing_fields({first, first}).empty());
  CHECK(differing_fields({}).empty());
}

}  // namespace esper::config::field_differences_test
