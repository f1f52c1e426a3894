#include "tolaria/evaluation/shapley_sampling.h"

#include <algorithm>
#include <array>
#include <numeric>
#include <set>

#include "base/error.h"
#include "data/order/random.h"

namespace esper::tolaria {
namespace {

using Order = std::vector<int>;
using Orders = std::array<Order, 2>;  // of one draw: an order and its reverse

// Draws orders (Fisher and Yates), each with its reverse.
class OrderSource {
 public:
  explicit OrderSource(const Sampling& sampling) : sampling_(sampling), key_(base::mix64(sampling.seed)) {}

  Orders next() {
    Order order(static_cast<std::size_t>(sampling_.players));
    std::iota(order.begin(), order.end(), 0);
    for (std::size_t left = order.size(); left > 1; --left) {
      std::swap(order[left - 1], order[data::random_below(key_, drawn_++, static_cast<std::uint32_t>(left))]);
    }
    return {order, Order(order.rbegin(), order.rend())};
  }

 private:
  const Sampling& sampling_;
  std::uint64_t key_, drawn_ = 0;
};

Contrast contribution(Coalition before, int player) { return {{before | only(player), 1}, {before, -1}}; }

Contrast interaction(Coalition before, int first, int second) {
  return {
      {before | only(first) | only(second), 1}, {before | only(first), -1}, {before | only(second), -1}, {before, 1}};
}

// Calls player(S, i) for each position of an order and pair(S, i, j) for each adjacent pair, S being the players
// before.
template <class Player, class Pair>
void walk(const Order& order, const Player& player, const Pair& pair) {
  Coalition before = 0;
  for (std::size_t k = 0; k < order.size(); ++k) {
    player(before, order[k]);
    if (k + 1 < order.size()) pair(before, order[k], order[k + 1]);
    before |= only(order[k]);
  }
}

std::set<Coalition> coalitions_of(const Orders& draw, Pairs pairs) {
  std::set<Coalition> needed;
  const auto add = [&](const Contrast& contrast) {
    for (const auto& [coalition, weight] : contrast) needed.insert(coalition);
  };
  for (const auto& order : draw) {
    walk(
        order, [&](Coalition before, int i) { add(contribution(before, i)); },
        [&](Coalition before, int i, int j) {
          if (pairs == Pairs::kMeasured) add(interaction(before, i, j));
        });
  }
  return needed;
}

// One estimate, updated by draws.
class Tally {
 public:
  void add(const Contrast& contrast, double share) {
    for (const auto& [coalition, weight] : contrast) sum_[coalition] += weight * share;
    shares_ += share;
  }
  // After each draw.
  void close(const CoalitionValues& coalition_values) {
    if (shares_ == 0) return;
    double value = 0;
    for (const auto& [coalition, weight] : sum_) {
      value += weight / shares_ * coalition_values.at(coalition);
      total_[coalition] += weight / shares_;
    }
    draws_.push_back(value);
    sum_.clear();
    shares_ = 0;
  }
  SampledFigure figure() const {
    SampledFigure out{total_, base::error_of_mean(draws_)};
    for (auto& [coalition, weight] : out.contrast) weight /= static_cast<double>(draws_.size());
    return out;
  }

 private:
  Contrast sum_, total_;
  double shares_ = 0;
  std::vector<double> draws_;
};

class GameTally {
 public:
  explicit GameTally(const Sampling& sampling)
      : pairs_wanted_(sampling.pairs), players_(static_cast<std::size_t>(sampling.players)) {}

  void add(const Orders& draw, const CoalitionValues& coalition_values) {
    for (const auto& order : draw) {
      walk(
          order,
          [&](Coalition before, int i) { players_[static_cast<std::size_t>(i)].add(contribution(before, i), 1); },
          [&](Coalition before, int i, int j) {
            if (pairs_wanted_ == Pairs::kMeasured) pairs_[std::minmax({i, j})].add(interaction(before, i, j), 1);
          });
    }
    for (auto& player : players_) player.close(coalition_values);
    for (auto& [pair, tally] : pairs_) tally.close(coalition_values);
    permutations_ += static_cast<int>(draw.size());
  }

  SampledGame game() const {
    SampledGame out;
    out.permutations = permutations_;
    if (permutations_ == 0) return out;
    for (const auto& player : players_) out.shapley.push_back(player.figure());
    for (const auto& [pair, tally] : pairs_) out.interactions.emplace(pair, tally.figure());
    return out;
  }

 private:
  Pairs pairs_wanted_;
  std::vector<Tally> players_;
  std::map<std::pair<int, int>, Tally> pairs_;
  int permutations_ = 0;
};

// Draws that are evaluated together.
struct Round {
  std::vector<Orders> draws;
  std::set<Coalition> wanted;
};

// Fills rounds draw by draw, within the budget.
class Planner {
 public:
  explicit Planner(const Sampling& sampling) : sampling_(sampling), source_(sampling) {}

  Round next(const CoalitionValues& coalition_values) {
    Round round;
    while (permutations_ < sampling_.most_permutations) {
      if (!held_) held_ = source_.next();
      std::set<Coalition> wanted = round.wanted;
      for (const Coalition coalition : coalitions_of(*held_, sampling_.pairs)) {
        if (!coalition_values.contains(coalition)) wanted.insert(coalition);
      }
      if (coalition_values.size() + wanted.size() > sampling_.most_coalitions) break;
      if (!round.wanted.empty() && wanted.size() > sampling_.most_in_a_round) break;
      round.wanted = std::move(wanted);
      permutations_ += static_cast<int>(held_->size());
      round.draws.push_back(*std::exchange(held_, std::nullopt));
    }
    return round;
  }

 private:
  const Sampling& sampling_;
  OrderSource source_;
  std::optional<Orders> held_;  // drawn, but kept for the next round
  int permutations_ = 0;
};

}  // namespace

// An order has one coalition of each size up to players - 2 before a player, and as many that skip the player before.
std::size_t most_coalitions_of(int players, int draws, Pairs pairs) {
  ESPER_CHECK(players >= 2 && draws >= 0, "sampling needs 2 players or more");
  const int of_order = (pairs == Pairs::kMeasured ? 2 : 1) * (players - 2);
  return 2 * static_cast<std::size_t>(draws) * static_cast<std::size_t>(of_order);
}

SampledGame sample_game(const Sampling& sampling, CoalitionValues& coalition_values, const AskValues& ask) {
  ESPER_CHECK(sampling.players >= 2 && sampling.players <= kMostPlayers, "sampling needs 2 to 64 players");
  Planner planner(sampling);
  GameTally tally(sampling);
  for (Round round = planner.next(coalition_values); !round.draws.empty(); round = planner.next(coalition_values)) {
    const std::vector<Coalition> wanted(round.wanted.begin(), round.wanted.end());
    if (!wanted.empty() && !ask(wanted, coalition_values)) break;
    for (const auto& draw : round.draws) tally.add(draw, coalition_values);
  }
  return tally.game();
}

}  // namespace esper::tolaria
