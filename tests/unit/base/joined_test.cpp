#include "base/text/joined.h"

#include <catch2/catch_test_macros.hpp>
#include <set>
#include <vector>

namespace esper::test::joined_test {

using esper::base::joined;

TEST_CASE("items are joined with a separator between them") {
  CHECK(joined(std::vector<std::string>{}) == "");
  CHECK(joined(std::vector<std::string>{"a"}) == "a");
  CHECK(joined(std::set<std::string>{"b", "a"}) == "a, b");
  CHECK(joined(std::vector<const char*>{"a", "b"}, " or ") == "a or b");
}

TEST_CASE("an empty item has its separators too") { CHECK(joined(std::vector<std::string>{"", ""}) == ", "); }

TEST_CASE("whole numbers are joined as they are, anything else by what makes a text of it") {
  struct Named {
    std::string name;
  };
  CHECK(joined(std::vector<int>{1, -2, 3}) == "1, -2, 3");
  CHECK(joined(std::vector<Named>{{"a"}, {"b"}}, ", ", &Named::name) == "a, b");
  CHECK(joined(std::vector<bool>{true, false}, "; ", [](bool item) { return item ? "yes" : "no"; }) == "yes; no");
}

}  // namespace esper::test::joined_test
