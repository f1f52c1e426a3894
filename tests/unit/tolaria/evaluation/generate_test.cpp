#include "tolaria/evaluation/generate.h"

#include <array>
#include <catch2/catch_test_macros.hpp>
#include <cmath>

#include "support/models/lane_cases.h"

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

TEST_CASE("only tokens of the data are drawn, however many outputs the network has") {
  constexpr std::int64_t kOutputs = 30, kTokens = 2;
  auto c = tests::lane_case("outputs", config::HostKind::kTransformer, leyline::tokens_shape(8, kOutputs), 1);
  c.config.host.embedding = 16;
  c.config.host.heads = c.config.host.layers = c.config.host.segments = 1;
  const auto model = tests::make_model(c);
  const auto shape = leyline::tokens_shape(8, kTokens);
  const auto drawn = tolaria::generate(*model, {0, 1}, shape, torch::kCPU, {.tokens = 20, .temperature = 1000});
  REQUIRE(drawn.size() == 20);
  for (const auto token : drawn) CHECK(token < kTokens);
}

}  // namespace esper::test::generate_test
