#include "tolaria/evaluation/generate.h"

#include <array>
#include <catch2/catch_test_macros.hpp>
#include <cmath>

namespace esper::test::generate_test {

using tolaria::draw_token;
using tolaria::TokenSampling;

TEST_CASE("a token is drawn as often as its probability says") {
  // Probabilities 1/2, 1/4, 1/4 in the order of the likeliest: token 1, then 0 and 2.
  const std::array logits{std::log(1.0f), std::log(2.0f), std::log(1.0f)};
  CHECK(draw_token(logits, {}, 0) == 1);
  CHECK(draw_token(logits, {}, 0.499) == 1);
  CHECK(draw_token(logits, {}, 0.501) == 0);
  CHECK(draw_token(logits, {}, 0.749) == 0);
  CHECK(draw_token(logits, {}, 0.751) == 2);
  CHECK(draw_token(logits, {}, 0.999999) == 2);
}

TEST_CASE("temperature and top_k narrow what is drawn") {
  const std::array logits{0.0f, 2.0f, 1.0f};
  for (const double uniform : {0.0, 0.5, 0.999}) {
    CHECK(draw_token(logits, {.temperature = 0}, uniform) == 1);
    CHECK(draw_token(logits, {.temperature = 0.01}, uniform) == 1);
    CHECK(draw_token(logits, {.top_k = 1}, uniform) == 1);
    CHECK(draw_token(logits, {.top_k = 2}, uniform) != 0);
  }
  CHECK(draw_token(logits, {.temperature = 1000}, 0.999) == 0);
  CHECK(draw_token(logits, {.top_k = 9}, 0.999) == 0);
}

}  // namespace esper::test::generate_test
