#include "tolaria/evaluation/shapley.h"

#include <algorithm>
#include <bit>
#include <cmath>

#include "base/error.h"

namespace esper::tolaria {
namespace {

double factorial(int n) { return std::tgamma(n + 1.0); }

// Calls visit(S, |S|) for every S of `players` players without those in `left_out`.
template <class Visit>
void for_each_without(int players, Coalition left_out, const Visit& visit) {
  for (Coalition s = 0; s <= all_players(players); ++s) {
    if ((s & left_out) == 0) visit(s, std::popcount(s));
  }
}

void check_exact(int players) {
  ESPER_CHECK(players >= 1 && players <= kMostExactPlayers, "too many players for all their coalitions");
}

}  // namespace

Coalition all_players(int players) {
  ESPER_CHECK(players >= 0 && players <= kMostPlayers, "coalitions are sets of at most 64 players");
  return players == kMostPlayers ? ~Coalition{0} : only(players) - 1;
}

Contrast last_contrast(int players, int player) {
  const Coalition all = all_players(players);
  return {{all, 1}, {all & ~only(player), -1}};
}

Contrast shapley_contrast(int players, int player) {
  check_exact(players);
  Contrast contrast;
  for_each_without(players, only(player), [&](Coalition s, int size) {
    const double weight = factorial(size) * factorial(players - size - 1) / factorial(players);
    contrast[s | only(player)] += weight;
    contrast[s] -= weight;
  });
  return contrast;
}

Contrast interaction_contrast(int players, int first, int second) {
  check_exact(players);
  ESPER_CHECK(first != second, "a player does not interact with itself");
  Contrast contrast;
  for_each_without(players, only(first) | only(second), [&](Coalition s, int size) {
    const double weight = factorial(size) * factorial(players - size - 2) / factorial(players - 1);
    contrast[s | only(first) | only(second)] += weight;
    contrast[s | only(first)] -= weight;
    contrast[s | only(second)] -= weight;
    contrast[s] += weight;
  });
  return contrast;
}

double value_of(const Contrast& contrast, const CoalitionValues& coalition_values) {
  double value = 0;
  for (const auto& [coalition, weight] : contrast) value += weight * coalition_values.at(coalition);
  return value;
}

std::optional<base::StandardError> standard_error(const Contrast& contrast, const Outcomes& outcomes) {
  std::vector<double> differences;
  for (const auto& [coalition, weight] : contrast) {
    const auto& outcome = outcomes.at(coalition);
    differences.resize(outcome.size());
    for (std::size_t i = 0; i < outcome.size(); ++i) differences[i] += weight * static_cast<double>(outcome[i]);
  }
  return base::error_of_mean(differences);
}

double largest_effect(const Contrast& contrast) {
  double sum = 0;
  for (const auto& [coalition, weight] : contrast) sum += std::max(weight, 0.0);
  return sum;
}

}  // namespace esper::tolaria
