#include "config/fields/field_text.h"

#include <catch2/catch_test_macros.hpp>

namespace esper::test::field_text_test {

using namespace esper::config;

TEST_CASE("numbers are written without needless digits") {
  CHECK(number_text(1e6) == "1000000");
  CHECK(number_text(0.9999) == "0.9999");
  CHECK(number_text(1e-16) == "1e-16");
  CHECK(limits_text(between(1, 64)) == "1 to 64");
  CHECK(limits_text(at_least(0)) == ">= 0");
  CHECK(limits_text({}).empty());
}

}  // namespace esper::test::field_text_test
