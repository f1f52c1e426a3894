#pragma once
// Games whose values are known otherwise.

#include <algorithm>
#include <functional>
#include <numeric>
#include <vector>

#include "data/random.h"
#include "tolaria/shapley.h"

namespace esper::tolaria::test {

struct Game {
  int players = 0;
  std::function<double(Coalition)> worth;
};

inline Worth all_worth(const Game& game) {
  Worth worth;
  for (Coalition s = 0; s <= everybody(game.players); ++s) worth[s] = game.worth(s);
  return worth;
}

// Every coalition is worth something unrelated to the others.
inline Game random_game(int players, std::uint64_t seed) {
  return {players, [seed](Coalition s) { return data::random_normal(leyline::mix64(seed), s); }};
}

// The mean contribution of each player over all n! orders.
inline std::vector<double> over_all_orders(const Game& game) {
  std::vector<int> order(static_cast<std::size_t>(game.players));
  std::iota(order.begin(), order.end(), 0);
  std::vector<double> sums(order.size());
  double orders = 0;
  do {
    Coalition before = 0;
    for (const int player : order) {
      const Coalition with = before | Coalition{1} << player;
      sums[static_cast<std::size_t>(player)] += game.worth(with) - game.worth(before);
      before = with;
    }
    ++orders;
  } while (std::next_permutation(order.begin(), order.end()));
  for (double& sum : sums) sum /= orders;
  return sums;
}

}  // namespace esper::tolaria::test
