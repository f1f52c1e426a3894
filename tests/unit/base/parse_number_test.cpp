#include "base/parse_number.h"

#include <catch2/catch_test_macros.hpp>
#include <cmath>
#include <cstdint>
#include <limits>

namespace esper::base::parse_number_test {

TEST_CASE("a whole number is its digits and nothing else") {
  CHECK(parse_number<std::int64_t>("0") == 0);
  CHECK(parse_number<std::int64_t>("-12") == -12);
  CHECK(parse_number<std::uint32_t>("007") == 7);
  for (const auto* text : {"", "-", "+1", " 1", "1 ", "12abc", "0x10", "1.0", "1e3", "--1"}) {
    INFO(text);
    CHECK_FALSE(parse_number<std::int64_t>(text));
  }
}

TEST_CASE("a number that the type cannot hold is none") {
  CHECK(parse_number<std::int64_t>("9223372036854775807") == std::numeric_limits<std::int64_t>::max());
  CHECK_FALSE(parse_number<std::int64_t>("9223372036854775808"));
  CHECK_FALSE(parse_number<std::uint32_t>("-1"));
  CHECK_FALSE(parse_number<double>("1e999"));
}

TEST_CASE("a number that is too close to 0 for a floating-point type is 0") {
  for (const auto* text : {"1e-400", "-1e-400", "0.0001e-330", "1e-99999999999999999999"}) {
    INFO(text);
    CHECK(parse_number<double>(text) == 0);
    CHECK(parse_number<float>(text) == 0);
  }
  CHECK(std::signbit(parse_number<double>("-1e-400").value_or(1)));
  CHECK(parse_number<float>("1e-60") == 0);
  for (const auto* text : {"1e-400x", "-1e400", "1e99999999999999999999"}) {
    INFO(text);
    CHECK_FALSE(parse_number<double>(text));
  }
  CHECK_FALSE(parse_number<float>("1e60"));
}

TEST_CASE("a real number is read to its last bit, and the text ends with it") {
  CHECK(parse_number<double>("0.1") == 0.1);
  CHECK(parse_number<double>("-2e-3") == -2e-3);
  CHECK(parse_number<double>("inf") == std::numeric_limits<double>::infinity());
  for (const auto* text : {"", ".", "+1", "1.5x", "1,5", "0.1 "}) {
    INFO(text);
    CHECK_FALSE(parse_number<double>(text));
  }
}

}  // namespace esper::base::parse_number_test
