#include "base/hash.h"

#include <catch2/catch_test_macros.hpp>

namespace esper::test::hash_test {

using namespace esper::base;

// Values of the published reference codes.
TEST_CASE("hashes never change between versions") {
  CHECK(fnv1a("") == 0xcbf29ce484222325u);
  CHECK(fnv1a("a") == 0xaf63dc4c8601ec8cu);
  CHECK(fnv1a("foobar") == 0x85944171f73967e8u);
  CHECK(mix64(0) == 0xe220a8397b1dcdafu);
  CHECK(mix64(1234567) == 6457827717110365317u);
}

}  // namespace esper::test::hash_test
