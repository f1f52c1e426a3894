#include "tolaria/evaluation/shapley_sampling.h"

#include <bit>
#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_floating_point.hpp>
#include <cmath>
#include <random>

#include "base/error.h"
#include "support/games.h"

namespace esper::test::shapley_sampling_test {

using tolaria::all_players;
using tolaria::Coalition;
using tolaria::CoalitionValues;
using tolaria::Contrast;
using tolaria::interaction_contrast;
using tolaria::most_coalitions_of;
using tolaria::Pairs;
using tolaria::sample_game;
using tolaria::SampledFigure;
using tolaria::SampledGame;
using tolaria::Sampling;
using tolaria::shapley_contrast;
using tolaria::value_of;

namespace {

using Catch::Matchers::WithinAbs;

constexpr std::size_t kPlenty = 1'000'000;

Sampling sampling_of(const Game& game, std::uint64_t seed, int permutations) {
  Sampling sampling;
  sampling.players = game.players;
  sampling.seed = seed;
  sampling.pairs = Pairs::kMeasured;
  sampling.most_coalitions = sampling.most_in_a_round = kPlenty;
  sampling.most_permutations = permutations;
  return sampling;
}

struct Asked {
  std::vector<std::size_t> rounds;  // how many each asked for
  bool twice = false;               // something was asked for that was known
};

SampledGame sample(const Game& game, const Sampling& sampling, CoalitionValues& coalition_values,
                   Asked* asked = nullptr) {
  return sample_game(sampling, coalition_values, [&](const std::vector<Coalition>& wanted, CoalitionValues& out) {
    if (asked) asked->rounds.push_back(wanted.size());
    for (const Coalition coalition : wanted) {
      if (asked) asked->twice = asked->twice || out.contains(coalition);
      out[coalition] = game.coalition_values(coalition);
    }
    return true;
  });
}

double variance(const std::vector<double>& values) {
  return std::pow(base::error_of_mean(values)->value, 2) * static_cast<double>(values.size());
}

// A player's mean contribution over orders of which each is drawn by itself.
double over_drawn_orders(const Game& game, int player, std::uint64_t seed, int orders) {
  std::mt19937_64 random(seed);
  std::vector<int> order(static_cast<std::size_t>(game.players));
  std::iota(order.begin(), order.end(), 0);
  double sum = 0;
  for (int drawn = 0; drawn < orders; ++drawn) {
    std::ranges::shuffle(order, random);
    Coalition before = 0;
    for (auto other = order.begin(); *other != player; ++other) before |= Coalition{1} << *other;
    sum += game.coalition_values(before | Coalition{1} << player) - game.coalition_values(before);
  }
  return sum / orders;
}

}  // namespace

TEST_CASE("sampled values and interactions agree with the exact ones within three standard errors") {
  int outside = 0, figures = 0;
  for (std::uint64_t seed = 0; seed < 10; ++seed) {
    const Game game = random_game(6, seed);
    const CoalitionValues exact = all_values(game);
    CoalitionValues coalition_values;
    const auto sampled = sample(game, sampling_of(game, seed + 100, 400), coalition_values);
    const auto judge = [&](const SampledFigure& figure, const Contrast& truth) {
      REQUIRE(figure.sampling_error);
      const double off = std::abs(value_of(figure.contrast, coalition_values) - value_of(truth, exact));
      CHECK(off < 4 * figure.sampling_error->value);
      outside += off > 3 * figure.sampling_error->value ? 1 : 0;
      ++figures;
    };
    REQUIRE(sampled.shapley.size() == 6);
    REQUIRE(sampled.interactions.size() == 15);
    for (int i = 0; i < 6; ++i) judge(sampled.shapley[static_cast<std::size_t>(i)], shapley_contrast(6, i));
    for (const auto& [pair, figure] : sampled.interactions) {
      judge(figure, interaction_contrast(6, pair.first, pair.second));
    }
  }
  CHECK(figures == 210);
  CHECK(outside <= 3);  // of 210, a normal distribution leaves 0.6 outside
}

TEST_CASE("the standard error is about the deviation that estimates show from seed to seed") {
  const Game game = random_game(6, 1);
  std::vector<double> estimates;
  double told = 0;
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    CoalitionValues coalition_values;
    const auto sampled = sample(game, sampling_of(game, seed, 40), coalition_values);
    estimates.push_back(value_of(sampled.shapley[2].contrast, coalition_values));
    told += std::pow(sampled.shapley[2].sampling_error->value, 2) / 200;
  }
  CHECK(variance(estimates) / told > 0.7);
  CHECK(variance(estimates) / told < 1.4);
}

TEST_CASE("a reverse beside each order takes out variance, all of it where a contribution grows with the order") {
  // v(S) = (sum of weights)^2: who stands at half of the weight contributes its mean, early and late cancel.
  const Game square{7, [](Coalition s) {
                      double sum = 0;
                      for (int i = 0; i < 7; ++i) sum += (s >> i & 1) != 0 ? i + 1 : 0;
                      return sum * sum;
                    }};
  // The same with a bend, so that something is left to cancel.
  const Game bent{7, [&](Coalition s) { return std::pow(square.coalition_values(s), 0.8); }};
  constexpr int kOrders = 20, kPlayer = 3;
  const auto spread = [](const std::function<double(std::uint64_t)>& estimate) {
    std::vector<double> estimates;
    for (std::uint64_t seed = 0; seed < 100; ++seed) estimates.push_back(estimate(seed));
    return variance(estimates);
  };
  const auto antithetic = [&](const Game& game) {
    return spread([&](std::uint64_t seed) {
      CoalitionValues coalition_values;
      const auto sampled = sample(game, sampling_of(game, seed, kOrders), coalition_values);
      REQUIRE(sampled.permutations == kOrders);
      return value_of(sampled.shapley[kPlayer].contrast, coalition_values);
    });
  };
  const auto independent = [&](const Game& game) {
    return spread([&](std::uint64_t seed) { return over_drawn_orders(game, kPlayer, seed, kOrders); });
  };
  CHECK(antithetic(square) < 1e-18);
  CHECK(independent(square) > 1);
  CHECK(antithetic(bent) < 0.2 * independent(bent));
}

TEST_CASE("sampled values sum to the value of all players, whatever the number of draws") {
  for (const int permutations : {2, 4, 30}) {
    const Game game = random_game(9, 4);
    CoalitionValues coalition_values;
    const auto sampled = sample(game, sampling_of(game, 8, permutations), coalition_values);
    double sum = 0;
    for (const auto& player : sampled.shapley) sum += value_of(player.contrast, coalition_values);
    CHECK_THAT(sum, WithinAbs(game.coalition_values(all_players(9)) - game.coalition_values(0), 1e-10));
  }
}

TEST_CASE("the budget of coalitions holds, in total and per round, and no coalition is requested twice") {
  for (const std::size_t most : {9, 30, 31, 64, 200}) {
    const Game game = random_game(8, 2);
    auto sampling = sampling_of(game, 5, 1000);
    sampling.most_coalitions = most;
    sampling.most_in_a_round = 16;
    CoalitionValues coalition_values = {{0, game.coalition_values(0)},
                                        {all_players(8), game.coalition_values(all_players(8))}};
    Asked asked;
    const auto sampled = sample(game, sampling, coalition_values, &asked);
    CHECK(coalition_values.size() <= most);
    CHECK_FALSE(asked.twice);
    // A draw of two orders of 8 players with pairs needs up to 2 * (7 + 7) coalitions that nobody knows yet.
    for (const std::size_t count : asked.rounds) CHECK(count <= 28);
    CHECK((sampled.permutations == 0) == (most < 30));
    if (sampled.permutations == 0) CHECK(sampled.shapley.empty());
  }
}

TEST_CASE("draws need no more coalitions than announced") {
  for (const Pairs pairs : {Pairs::kLeftOut, Pairs::kMeasured}) {
    for (int players = 3; players <= 9; ++players) {
      const Game game = random_game(players, 2);
      CoalitionValues coalition_values = {{0, 0}, {all_players(players), 0}};
      for (int i = 0; i < players; ++i) coalition_values[all_players(players) & ~(Coalition{1} << i)] = 0;
      const auto known = coalition_values.size();
      auto sampling = sampling_of(game, 5, 4);
      sampling.pairs = pairs;
      REQUIRE(sample(game, sampling, coalition_values).permutations == 4);
      CHECK(coalition_values.size() - known <= most_coalitions_of(players, 2, pairs));
    }
  }
  CHECK(most_coalitions_of(8, 1, Pairs::kLeftOut) == 12);
  CHECK(most_coalitions_of(8, 2, Pairs::kMeasured) == 48);
}

TEST_CASE("the size of rounds changes no value") {
  const Game game = random_game(8, 6);
  CoalitionValues at_once, in_rounds;
  auto sampling = sampling_of(game, 5, 30);
  const auto one = sample(game, sampling, at_once);
  sampling.most_in_a_round = 20;
  Asked asked;
  const auto many = sample(game, sampling, in_rounds, &asked);
  CHECK(asked.rounds.size() > 3);
  CHECK(one.permutations == many.permutations);
  CHECK(at_once == in_rounds);
  for (std::size_t i = 0; i < 8; ++i) CHECK(one.shapley[i].contrast == many.shapley[i].contrast);
}

TEST_CASE("the draws before a failed round count") {
  const Game game = random_game(8, 6);
  auto sampling = sampling_of(game, 5, 30);
  sampling.most_in_a_round = 20;
  int rounds = 0;
  CoalitionValues coalition_values;
  const auto sampled =
      sample_game(sampling, coalition_values, [&](const std::vector<Coalition>& wanted, CoalitionValues& out) {
        if (++rounds == 3) return false;
        for (const Coalition coalition : wanted) out[coalition] = game.coalition_values(coalition);
        return true;
      });
  CHECK(sampled.permutations > 0);
  CHECK(sampled.permutations < 30);
  CHECK(sampled.shapley.size() == 8);
}

TEST_CASE("sixty-four players have too many orders to list and coalitions to know, and are sampled") {
  const Game game{64, [](Coalition s) { return std::sqrt(static_cast<double>(std::popcount(s))); }};
  auto sampling = sampling_of(game, 1, 20);
  sampling.pairs = Pairs::kLeftOut;
  CoalitionValues coalition_values;
  const auto sampled = sample(game, sampling, coalition_values);
  CHECK(coalition_values.size() <= 20 * 63 + 2);
  CHECK(sampled.interactions.empty());
  double sum = 0;
  for (const auto& player : sampled.shapley) sum += value_of(player.contrast, coalition_values);
  CHECK_THAT(sum, WithinAbs(8, 1e-9));
  CHECK_THROWS_AS(sample(game, {.players = 65}, coalition_values), base::Error);
}

}  // namespace esper::test::shapley_sampling_test
