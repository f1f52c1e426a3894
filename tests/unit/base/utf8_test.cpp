#include "base/text/utf8.h"

#include <catch2/catch_test_macros.hpp>

namespace esper::test::utf8_test {

using esper::base::utf8_length;

TEST_CASE("a well-formed sequence counts its bytes, whatever follows") {
  CHECK(utf8_length("a\xff") == 1);
  CHECK(utf8_length("\xc2\x80") == 2);
  CHECK(utf8_length("\xe2\x82\xac.") == 3);
  CHECK(utf8_length("\xef\xbf\xbf") == 3);
  CHECK(utf8_length("\xf0\x90\x80\x80") == 4);
  CHECK(utf8_length("\xf4\x8f\xbf\xbf") == 4);
}

TEST_CASE("an ill-formed part is as long as it could have been the start of something") {
  CHECK(utf8_length("\x80") == -1);
  CHECK(utf8_length("\xc0\xaf") == -1);      // overlong
  CHECK(utf8_length("\xe0\x9f\xbf") == -1);  // overlong
  CHECK(utf8_length("\xed\xa0\x80") == -1);  // surrogate
  CHECK(utf8_length("\xf0\x8f\xbf\xbf") == -1);
  CHECK(utf8_length("\xf4\x90\x80\x80") == -1);  // above U+10FFFF
  CHECK(utf8_length("\xf5\x80\x80\x80") == -1);
  CHECK(utf8_length("\xc3") == -1);
  CHECK(utf8_length("\xe2\x82") == -2);
  CHECK(utf8_length("\xf0\x9f\x98x") == -3);
}

}  // namespace esper::test::utf8_test
