#include "base/fault.h"

#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <vector>

#include "base/error.h"

namespace esper::test::fault_test {

using namespace esper::base;

namespace {

struct Disarm {
  Disarm() { fault::disarm_all(); }
  ~Disarm() { fault::disarm_all(); }
};

std::vector<int> firing_hits(int count) {
  std::vector<int> fired;
  for (int i = 1; i <= count; ++i) {
    if (fault::hit("test.point")) fired.push_back(i);
  }
  return fired;
}

}  // namespace

TEST_CASE("nothing fires when nothing is armed") {
  const Disarm guard;
  CHECK(firing_hits(100).empty());
  CHECK(fault::hits("test.point") == 0);
  CHECK(fault::internal::armed.load() == 0);
}

TEST_CASE("an armed point fires at its n-th hit, as often as asked") {
  const Disarm guard;
  fault::arm("test.point", 3);
  CHECK(firing_hits(6) == std::vector{3});
  CHECK(fault::hits("test.point") == 6);
  fault::arm("test.point", 2, 3);
  CHECK(firing_hits(6) == std::vector{2, 3, 4});
  fault::arm("test.point", 4, fault::kEveryHit);
  CHECK(firing_hits(6) == std::vector{4, 5, 6});
  CHECK_FALSE(fault::hit("test.other"));
}

TEST_CASE("points are armed by text") {
  const Disarm guard;
  fault::arm_from_text("test.other@1,test.point@2x*");
  CHECK(firing_hits(4) == std::vector{2, 3, 4});
  CHECK(fault::hit("test.other"));
  CHECK_FALSE(fault::hit("test.other"));
}

TEST_CASE("a text that arms nothing is refused") {
  const Disarm guard;
  const auto* text = GENERATE("test.point", "@3", "test.point@", "test.point@0", "test.point@x2", "test.point@1x",
                              "test.point@1x0", "a@1,,b@1", "test.point@-1", "a@1,b@1,a@2");
  CAPTURE(text);
  CHECK_THROWS_AS(fault::arm_from_text(text), Error);
}

}  // namespace esper::test::fault_test
