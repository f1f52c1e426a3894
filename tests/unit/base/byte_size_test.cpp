#include "base/text/byte_size.h"

#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>

namespace esper::test::byte_size_test {

using esper::base::parse_byte_size;

TEST_CASE("sizes in bytes are read") {
  CHECK(parse_byte_size("0") == 0);
  CHECK(parse_byte_size("3KiB") == 3072);
  CHECK(parse_byte_size("500MiB") == 500ll << 20);
  CHECK(parse_byte_size("4GiB") == 4ll << 30);
  CHECK(parse_byte_size("999999TiB") == 999999ll << 40);
}

TEST_CASE("what is no size in bytes is refused") {
  const auto* text =
      GENERATE("", "4", "GiB", "4 GiB", "-4GiB", "+4GiB", "4.5GiB", "4GB", "4gib", "1000000TiB", "4GiB ");
  CAPTURE(text);
  CHECK_FALSE(parse_byte_size(text).has_value());
}

}  // namespace esper::test::byte_size_test
