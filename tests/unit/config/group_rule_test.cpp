#include "config/entries/group_rule.h"

#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

namespace esper::test::group_rule_test {

using Catch::Matchers::ContainsSubstring;
using esper::config::GroupRule;

TEST_CASE("a rule names parameters and what is theirs") {
  const auto both = GroupRule::parse("features.*:lr=0.1,weight_decay=0");
  REQUIRE(both);
  CHECK(both->pattern == "features.*");
  CHECK(both->lr == 0.1);
  CHECK(both->weight_decay == 0.0);
  const auto decay = GroupRule::parse("*.bias:weight_decay=0.5");
  REQUIRE(decay);
  CHECK(decay->lr == 1);
  CHECK(decay->weight_decay == 0.5);
  CHECK_FALSE(GroupRule::parse("a:lr=2")->weight_decay.has_value());
}

TEST_CASE("what is wrong with a rule is named") {
  const auto problem = [](const char* text) { return GroupRule::parse(text).error(); };
  CHECK_THAT(problem("features.*"), ContainsSubstring("PATTERN:lr=FACTOR"));
  CHECK_THAT(problem(":lr=1"), ContainsSubstring("PATTERN:lr=FACTOR"));
  CHECK_THAT(problem("a:rate=1"), ContainsSubstring("neither lr nor weight_decay"));
  for (const char* text : {"a:lr=", "a:lr=-1", "a:lr=nan", "a:lr=1e9", "a:lr=1x", "a:lr"}) {
    CHECK_THAT(problem(text), ContainsSubstring("a number from 0 to 1000"));
  }
  CHECK_THAT(problem("a:lr=1,"), ContainsSubstring("neither lr nor weight_decay"));
}

}  // namespace esper::test::group_rule_test
