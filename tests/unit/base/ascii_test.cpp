#include "base/text/ascii.h"

#include <catch2/catch_test_macros.hpp>

namespace esper::base::ascii_test {

TEST_CASE("letters and digits of ASCII count, others only where they are named") {
  for (const char c : {'a', 'z', 'A', 'Z', '0', '9'}) CHECK(is_alphanumeric_or(c, ""));
  for (const char c : {'_', '.', ' ', '\0', '@', '[', '`', '{', '/', ':', '\xe4'})
    CHECK_FALSE(is_alphanumeric_or(c, ""));
  CHECK(is_alphanumeric_or('_', "-_"));
  CHECK_FALSE(is_alphanumeric_or('.', "-_"));
}

TEST_CASE("capital letters become small ones, and nothing else changes") {
  CHECK(lower_case("Img_AZ09.JPEG") == "img_az09.jpeg");
  CHECK(lower_case("\xc3\x84[@") == "\xc3\x84[@");
}

}  // namespace esper::base::ascii_test
