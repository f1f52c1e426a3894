#include "base/whole_number.h"

#include <catch2/catch_test_macros.hpp>
#include <cmath>
#include <cstdint>
#include <limits>

namespace esper::base::whole_number_test {

TEST_CASE("a floating-point number is a whole one where it has no fraction and the type holds it") {
  CHECK(whole_number<std::int64_t>(-12) == -12);
  CHECK(whole_number<std::int64_t>(-0.0) == 0);
  CHECK(whole_number<std::uint32_t>(4294967295.0) == 4294967295);
  CHECK(whole_number<std::int64_t>(-0x1p63) == std::numeric_limits<std::int64_t>::min());
  CHECK(whole_number<std::uint64_t>(0x1p63) == std::uint64_t{1} << 63);
  for (const double value : {0.5, -1.5, 1e300, -1e300, 0x1p63, HUGE_VAL, -HUGE_VAL, std::nan("")}) {
    CAPTURE(value);
    CHECK_FALSE(whole_number<std::int64_t>(value));
  }
  CHECK_FALSE(whole_number<std::uint64_t>(0x1p64));
  CHECK_FALSE(whole_number<std::uint32_t>(4294967296.0));
  CHECK_FALSE(whole_number<std::uint32_t>(-1));
  CHECK_FALSE(whole_number<int>(0x1p31));
}

}  // namespace esper::base::whole_number_test
