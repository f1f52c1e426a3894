#include "tolaria/evaluation/shapley.h"

#include <bit>
#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_floating_point.hpp>
#include <cmath>

#include "base/error.h"
#include "support/games.h"

namespace esper::test::shapley_test {

using tolaria::all_players;
using tolaria::Coalition;
using tolaria::interaction_contrast;
using tolaria::kMostExactPlayers;
using tolaria::largest_effect;
using tolaria::last_contrast;
using tolaria::Outcomes;
using tolaria::shapley_contrast;
using tolaria::standard_error;
using tolaria::value_of;

namespace {

using Catch::Matchers::WithinAbs;

constexpr double kExact = 1e-12;

double shapley(const Game& game, int player) {
  return value_of(shapley_contrast(game.players, player), all_values(game));
}
double interaction(const Game& game, int i, int j) {
  return value_of(interaction_contrast(game.players, i, j), all_values(game));
}

}  // namespace

TEST_CASE("the glove game: the only left glove is worth four times each right one") {
  const Game gloves{3, [](Coalition s) { return (s & 1) != 0 && (s & 6) != 0 ? 1.0 : 0.0; }};
  CHECK_THAT(shapley(gloves, 0), WithinAbs(2.0 / 3, kExact));
  CHECK_THAT(shapley(gloves, 1), WithinAbs(1.0 / 6, kExact));
  CHECK_THAT(shapley(gloves, 2), WithinAbs(1.0 / 6, kExact));
  // Left and right need each other unless the other right one is there; the right ones replace each other.
  CHECK_THAT(interaction(gloves, 0, 1), WithinAbs(0.5, kExact));
  CHECK_THAT(interaction(gloves, 0, 2), WithinAbs(0.5, kExact));
  CHECK_THAT(interaction(gloves, 1, 2), WithinAbs(-0.5, kExact));
  CHECK(value_of(last_contrast(3, 0), all_values(gloves)) == 1);
  CHECK(value_of(last_contrast(3, 1), all_values(gloves)) == 0);
}

TEST_CASE("the airport game: who needs a longer runway pays its last part alone") {
  // Littlechild and Owen 1973. Runways of 1, 2 and 3.
  const Game airport{3, [](Coalition s) { return s == 0 ? 0.0 : 64.0 - std::countl_zero(s); }};
  CHECK_THAT(shapley(airport, 0), WithinAbs(1.0 / 3, kExact));
  CHECK_THAT(shapley(airport, 1), WithinAbs(1.0 / 3 + 1.0 / 2, kExact));
  CHECK_THAT(shapley(airport, 2), WithinAbs(1.0 / 3 + 1.0 / 2 + 1, kExact));
}

TEST_CASE("in an additive game each is worth what it adds, and nobody interacts") {
  const double own[] = {3, -1, 0.5, 2};
  const Game additive{4, [&](Coalition s) {
                        double sum = 7;  // what nobody is worth counts for nobody
                        for (int i = 0; i < 4; ++i) sum += (s >> i & 1) != 0 ? own[i] : 0;
                        return sum;
                      }};
  for (int i = 0; i < 4; ++i) {
    CHECK_THAT(shapley(additive, i), WithinAbs(own[i], kExact));
    for (int j = 0; j < i; ++j) CHECK_THAT(interaction(additive, i, j), WithinAbs(0, kExact));
  }
}

TEST_CASE("a dummy player has value 0, and symmetric players have equal values") {
  // Player 3 changes nothing; 0 and 1 may be swapped.
  const Game game{4, [](Coalition s) {
                    const double both = std::popcount(s & 3);
                    return both * both + ((s & 4) != 0 ? 1.5 * both : 0.0);
                  }};
  CHECK_THAT(shapley(game, 3), WithinAbs(0, kExact));
  CHECK_THAT(shapley(game, 0), WithinAbs(shapley(game, 1), kExact));
  for (int i = 0; i < 3; ++i) CHECK_THAT(interaction(game, i, 3), WithinAbs(0, kExact));
  CHECK_THAT(interaction(game, 0, 2), WithinAbs(interaction(game, 1, 2), kExact));
  CHECK_THAT(interaction(game, 0, 1), WithinAbs(2, kExact));
}

TEST_CASE("Shapley values sum exactly to the value of all players") {
  for (int players = 1; players <= 7; ++players) {
    for (std::uint64_t seed = 0; seed < 5; ++seed) {
      const Game game = random_game(players, seed);
      double sum = 0;
      for (int i = 0; i < players; ++i) sum += shapley(game, i);
      CHECK_THAT(sum, WithinAbs(game.coalition_values(all_players(players)) - game.coalition_values(0), 1e-10));
    }
  }
}

TEST_CASE("exact values are the means over all orders") {
  const Game game = random_game(5, 3);
  const auto means = over_all_orders(game);
  for (int i = 0; i < 5; ++i) CHECK_THAT(shapley(game, i), WithinAbs(means[static_cast<std::size_t>(i)], 1e-12));
}

TEST_CASE("the standard error is that of the paired differences") {
  // Two coalitions over four samples: the difference is 0, 1, 0, 1, with variance 1/3.
  const Outcomes outcomes = {{1, {1, 1, 0, 1}}, {0, {1, 0, 0, 0}}};
  const auto error = standard_error(last_contrast(1, 0), outcomes);
  REQUIRE(error);
  CHECK_THAT(error->value, WithinAbs(std::sqrt(1.0 / 3 / 4), kExact));
  CHECK(error->degrees == 3);
  // What both get right or wrong alike makes no error.
  const Outcomes alike = {{1, {1, 0, 0, 1}}, {0, {1, 0, 0, 1}}};
  REQUIRE(standard_error(last_contrast(1, 0), alike));
  CHECK(standard_error(last_contrast(1, 0), alike)->value == 0);
  const Outcomes single = {{1, {1}}, {0, {0}}};
  CHECK_FALSE(standard_error(last_contrast(1, 0), single));
}

TEST_CASE("a sample changes a contribution by at most 1, an interaction by at most 2") {
  CHECK(largest_effect(last_contrast(4, 1)) == 1);
  CHECK_THAT(largest_effect(shapley_contrast(4, 1)), WithinAbs(1, kExact));
  CHECK_THAT(largest_effect(interaction_contrast(4, 1, 3)), WithinAbs(2, kExact));
}

TEST_CASE("coalitions of too many players are refused, of many they are sets of bits") {
  CHECK(all_players(0) == 0);
  CHECK(all_players(64) == ~Coalition{0});
  CHECK_THROWS_AS(all_players(65), base::Error);
  CHECK_THROWS_AS(shapley_contrast(kMostExactPlayers + 1, 0), base::Error);
  CHECK_THROWS_AS(interaction_contrast(3, 1, 1), base::Error);
}

}  // namespace esper::test::shapley_test
