#pragma once
// Games whose values are known otherwise.

#include <algorithm>
#include <functional>
#include <numeric>
#include <vector>

#include "data/order/random.h"
#include "tolaria/evaluation/shapley.h"

namespace esper::test {

struct Game {
  int players = 0;
  std::function<double(tolaria::Coalition)> coalition_values;
};

inline tolaria::CoalitionValues all_values(const Game& game) {
  tolaria::CoalitionValues coalition_values;
  for (tolaria::Coalition s = 0; s <= tolaria::all_players(game.players); ++s)
    coalition_values[s] = game.coalition_values(s);
  return coalition_values;
}

// Every coalition is worth something unrelated to the others.
inline Game random_game(int players, std::uint64_t seed) {
  return {players, [seed](tolaria::Coalition s) { return data::random_normal(base::mix64(seed), s); }};
}

// The mean contribution of each player over all n! orders.
inline std::vector<double> over_all_orders(const Game& game) {
  std::vector<int> order(static_cast<std::size_t>(game.players));
  std::iota(order.begin(), order.end(), 0);
  std::vector<double> sums(order.size());
  double orders = 0;
  do {
    tolaria::Coalition before = 0;
    for (const int player : order) {
      const tolaria::Coalition with = before | tolaria::Coalition{1} << player;
      sums[static_cast<std::size_t>(player)] += game.coalition_values(with) - game.coalition_values(before);
      before = with;
    }
    ++orders;
  } while (std::next_permutation(order.begin(), order.end()));
  for (double& sum : sums) sum /= orders;
  return sums;
}

}  // namespace esper::test
