#include "base/text/aligned.h"

#include <catch2/catch_test_macros.hpp>

namespace esper::test::aligned_test {

using esper::base::aligned;

TEST_CASE("columns are as wide as their widest cell in characters, the last one is not filled up") {
  CHECK(aligned({{"a", "bb", "c"}, {"\xC3\xA4\xC3\xB6\xC3\xBC", "b", "long"}}) ==
        "a    bb  c\n\xC3\xA4\xC3\xB6\xC3\xBC  b   long\n");
  CHECK(aligned({{"one"}}) == "one\n");
  CHECK(aligned({}).empty());
}

}  // namespace esper::test::aligned_test
