#pragma once
// Shapley values and interactions of many players, from a part of their coalitions. No tensors. Any thread.
//
// The Shapley value is a player's mean contribution to those before it, over all n! orders; a drawn order gives one
// contribution of each player (Castro, Gomez and Tejada 2009, "Polynomial calculation of the Shapley value based on
// sampling"). Two adjacent players in a drawn order, with S before them, give one v(S + i + j) - v(S + i) - v(S + j) +
// v(S), and its mean is their interaction: S has each size equally often, as in the weights of
// tolaria/evaluation/shapley.h. Orders are drawn one by one and not stored. Each drawn order is followed by its
// reverse, and the two count as one draw (antithetic): a player that is early in one is late in the other, which
// cancels much of the variance (Mitchell, Cooper, Frank and Holmes 2022, "Sampling permutations for Shapley value
// estimation").

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "tolaria/evaluation/shapley.h"

namespace esper::tolaria {

enum class Pairs { kLeftOut, kMeasured };

struct Sampling {
  int players = 0;  // 2..kMostPlayers
  std::uint64_t seed = 0;
  Pairs pairs = Pairs::kLeftOut;    // measuring them needs about twice the coalitions
  std::size_t most_coalitions = 0;  // limit of known coalitions, those known before included
  std::size_t most_in_a_round = 0;  // limit per round; a draw that needs more gets its own round
  int most_permutations = 100;
};

// What the first `draws` draws need at most of the coalitions that are neither empty nor full nor lack one player only.
std::size_t most_coalitions_of(int players, int draws, Pairs pairs);

// Adds the values of these coalitions, none of which is known yet. Returns false if that failed or must not happen;
// then nothing was added, and sampling ends with the draws so far.
using AskValues = std::function<bool(const std::vector<Coalition>& wanted, CoalitionValues& coalition_values)>;

struct SampledFigure {
  Contrast contrast;                                  // value_of() of it is the estimate
  std::optional<base::StandardError> sampling_error;  // over draws; empty below two draws
};

struct SampledGame {
  std::vector<SampledFigure> shapley;                         // by player; empty without a draw
  std::map<std::pair<int, int>, SampledFigure> interactions;  // first < second; pairs that were adjacent in a draw
  int permutations = 0;
};

// The same seed draws the same orders. worth: the known values; receives the new ones.
SampledGame sample_game(const Sampling& sampling, CoalitionValues& coalition_values, const AskValues& ask);

}  // namespace esper::tolaria
