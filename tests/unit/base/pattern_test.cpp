#include "base/text/pattern.h"

#include <catch2/catch_test_macros.hpp>
#include <string>

namespace esper::test::pattern_test {

using esper::base::fits_pattern;

TEST_CASE("a pattern without a star fits one text") {
  CHECK(fits_pattern("fc.weight", "fc.weight"));
  CHECK_FALSE(fits_pattern("fc.weight", "fc.bias"));
  CHECK_FALSE(fits_pattern("fc.weight", "fc"));
  CHECK_FALSE(fits_pattern("fc", "fc.weight"));
  CHECK(fits_pattern("", ""));
}

TEST_CASE("a star stands for any text, dots and nothing included") {
  CHECK(fits_pattern("features.0.conv.weight", "features.*"));
  CHECK(fits_pattern("features.", "features.*"));
  CHECK_FALSE(fits_pattern("features", "features.*"));
  CHECK(fits_pattern("layer3.0.bn1.weight", "layer3.*.weight"));
  CHECK_FALSE(fits_pattern("layer3.0.bn1.bias", "layer3.*.weight"));
  CHECK(fits_pattern("anything", "*"));
  CHECK(fits_pattern("", "**"));
  CHECK(fits_pattern("a.bb.b", "a*b"));  // the first b is not the last one
}

TEST_CASE("many stars cost no more than texts times patterns") {
  const std::string text(20'000, 'a');
  std::string pattern;
  for (int i = 0; i < 200; ++i) pattern += "a*";
  CHECK_FALSE(fits_pattern(text, pattern + "b"));
}

}  // namespace esper::test::pattern_test
