#include "tolaria/safety/steady_bits.h"

#include <catch2/catch_test_macros.hpp>

namespace esper::test::steady_bits_test {

using tolaria::SteadyBits;

namespace {

// The step, from 1, after which a copy is wanted first; 0 if after none of them.
int first_wanted(SteadyBits& steady, std::uint64_t bits, int steps) {
  for (int step = 1; step <= steps; ++step) {
    if (steady.wants_copy(bits)) return step;
  }
  return 0;
}

}  // namespace

TEST_CASE("after a change of bits the copy is taken again once they have stayed the same for 16 steps") {
  SteadyBits steady;
  CHECK(first_wanted(steady, 7, 40) == 17);
  steady.copied();
  CHECK(first_wanted(steady, 7, 40) == 0);
  CHECK(first_wanted(steady, 8, 40) == 17);
}

TEST_CASE("while bits change to and fro no copy is taken, nor after one was taken for another reason") {
  SteadyBits steady;
  for (int i = 0; i < 20; ++i) {
    CHECK(first_wanted(steady, 1, 16) == 0);
    CHECK(first_wanted(steady, 2, 16) == 0);
  }
  steady.copied();
  CHECK(first_wanted(steady, 2, 40) == 0);
}

}  // namespace esper::test::steady_bits_test
