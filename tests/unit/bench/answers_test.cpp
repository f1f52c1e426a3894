#include "engine/bench_policy/answers.h"

#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_exception.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <cmath>

#include "base/error.h"

namespace esper::test::answers_test {

using namespace esper;
using namespace esper::engine::bench;
using Catch::Matchers::ContainsSubstring;
using Catch::Matchers::MessageMatches;

TEST_CASE("answers may differ in their last digits, large numbers by more") {
  CHECK_NOTHROW(check_answer("folded", {0.5F, 100.0F}, {0.50005F, 100.005F}));
}

TEST_CASE("another answer is named with whose it is") {
  const std::vector<float> expected = {0.5F, 1.0F};
  for (const auto& answer : {std::vector{0.5F, 1.001F}, std::vector{NAN, 1.0F}, std::vector{0.5F}}) {
    CAPTURE(answer);
    CHECK_THROWS_MATCHES(check_answer("folded at 8 nodes", answer, expected), base::Error,
                         MessageMatches(ContainsSubstring("folded at 8 nodes")));
  }
}

}  // namespace esper::test::answers_test
