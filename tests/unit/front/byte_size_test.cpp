#include "esper/queue/byte_size.h"

#include <catch2/catch_test_macros.hpp>

#include "base/error.h"

namespace esper::test::byte_size_test {

using esper::bytes_in;

TEST_CASE("sizes have a unit") {
  CHECK(bytes_in("--memory", "4GiB") == std::int64_t{4} << 30);
  CHECK(bytes_in("--memory", "500MiB") == 500 << 20);
  for (const char* text : {"", "4", "4GB", "GiB", "-1GiB", "1.5GiB", "4 GiB", "99999999TiB"}) {
    CAPTURE(text);
    CHECK_THROWS_AS(bytes_in("--memory", text), esper::base::Error);
  }
}

}  // namespace esper::test::byte_size_test
