#pragma once
// Attribution of a group's value to its members. Pure functions of numbers, without tensors. Any thread.
//
// A game has players 0..n-1; N is all of them, and v(S) is what a coalition S of them is worth. |S|: its players.
//
//   last contribution  m_i  = v(N) - v(N - i)
//   Shapley value      phi_i = sum over S without i of |S|! (n - |S| - 1)! / n! * (v(S + i) - v(S))
//   interaction        I_ij = sum over S without i, j of |S|! (n - |S| - 2)! / (n - 1)!
//                             * (v(S + i + j) - v(S + i) - v(S + j) + v(S))
//
// The Shapley values of all players sum to v(N) - v(empty). Sources: Shapley 1953, "A value for n-person games";
// Grabisch and Roubens 1999, "An axiomatic approach to the concept of interaction among players in cooperative games".

#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "base/statistics.h"

namespace esper::tolaria {

using Coalition = std::uint64_t;                      // bit i: player i takes part
using CoalitionValues = std::map<Coalition, double>;  // v, where known
// A figure that is linear in v: the sum of weight * v(coalition).
using Contrast = std::map<Coalition, double>;

inline constexpr int kMostPlayers = 64;
// An exact value needs all 2^n coalitions.
inline constexpr int kMostExactPlayers = 10;

constexpr Coalition only(int player) { return Coalition{1} << player; }
Coalition all_players(int players);
Contrast last_contrast(int players, int player);
// players: 1..kMostExactPlayers.
Contrast shapley_contrast(int players, int player);
// players: 2..kMostExactPlayers; first and second differ.
Contrast interaction_contrast(int players, int first, int second);

// worth must contain every coalition of the contrast.
double value_of(const Contrast& contrast, const CoalitionValues& coalition_values);

// The value of a coalition for each sample; v is the mean over samples. All of the same length.
using Outcomes = std::map<Coalition, std::vector<float>>;
// Standard error of value_of(contrast, v) over the samples, assumed independent: the standard deviation of the contrast
// within each sample, divided by the root of their number. Paired: errors that all coalitions share cancel. Empty below
// two samples.
std::optional<base::StandardError> standard_error(const Contrast& contrast, const Outcomes& outcomes);
// The largest change of value_of(contrast, v) that one sample out of `samples` can make, times `samples`: outcomes are
// 0 to 1, and the weights of a contrast sum to zero.
double largest_effect(const Contrast& contrast);

}  // namespace esper::tolaria
