#include "esper/queue/repeat.h"

#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_exception.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

#include "base/text/problem.h"

namespace esper::test::repeat_test {

using Catch::Matchers::ContainsSubstring;
using Catch::Matchers::MessageMatches;
using esper::seeds_in;
using Seeds = std::vector<std::uint64_t>;

TEST_CASE("seeds are a range or a list") {
  CHECK(seeds_in("seeds=1..5") == Seeds{1, 2, 3, 4, 5});
  CHECK(seeds_in("seeds=1,2,7") == Seeds{1, 2, 7});
  CHECK(seeds_in("seeds=3") == Seeds{3});
  CHECK(seeds_in("seeds=0..9999").size() == 10'000);
}

TEST_CASE("other keys are refused with the way out, and all bad seeds are named") {
  for (const char* text : {"lr=1..3", "seeds", "seed=1..3", ""}) {
    CAPTURE(text);
    CHECK_THROWS_MATCHES(seeds_in(text), esper::base::Error, MessageMatches(ContainsSubstring("seeds=1..5")));
  }
  CHECK_THROWS_MATCHES(seeds_in("seeds=a,1,1"), esper::base::ConfigError,
                       MessageMatches(ContainsSubstring("seeds[0]") && ContainsSubstring("the same as seeds[1]")));
  for (const char* text : {"seeds=", "seeds=1,", "seeds=5..1", "seeds=0..10000", "seeds=-1", "seeds=1.5"}) {
    CAPTURE(text);
    CHECK_THROWS_AS(seeds_in(text), esper::base::ConfigError);
  }
}

}  // namespace esper::test::repeat_test
