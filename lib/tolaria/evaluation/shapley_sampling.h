#pragma once
// Shapley values and interactions of many players, from a part of their coalitions. No tensors. Any thread.
//
// The Shapley value is a player's mean contribution to those before it, over all n! orders; a drawn order gives one
// contribution of each player (Castro, Gomez and Tejada 2009, "Polynomial calculation of the Shapley value based on
// sampling"). Two players that follow each other in a drawn order, with S before them, give one
// v(S + i + j) - v(S + i) - v(S + j) + v(S), and its mean is their interaction: S has each size equally often, as in
// the weights of tolaria/evaluation/shapley.h. Orders are drawn one by one and none is kept. Each drawn order is
// followed by its reverse, and the two count as one draw (antithetic). Who comes early in one comes late in the other,
// which cancels much of the variance (Mitchell, Cooper, Frank and Holmes 2022, "Sampling permutations for Shapley value
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
  Pairs pairs = Pairs::kLeftOut;    // measuring them asks for about twice the coalitions
  std::size_t most_coalitions = 0;  // that may be known in the end, those known before included
  std::size_t most_in_a_round = 0;  // that are asked for at a time; a draw that needs more gets a round of its own
  int most_permutations = 100;
};

// Adds the worth of these coalitions, none of which is known yet. False: it could not or must not, and nothing was
// added; sampling ends with the draws so far.
using AskValues = std::function<bool(const std::vector<Coalition>& wanted, CoalitionValues& coalition_values)>;

struct SampledFigure {
  Contrast contrast;                     // value_of() it is the estimate
  std::optional<double> sampling_error;  // standard error over draws; nothing below two of them
};

struct SampledGame {
  std::vector<SampledFigure> shapley;                         // by player; empty if there was no draw
  std::map<std::pair<int, int>, SampledFigure> interactions;  // first < second; pairs that met in a draw
  int permutations = 0;
};

// The same seed draws the same orders. worth: what is known already; it gets what was asked for.
SampledGame sample_game(const Sampling& sampling, CoalitionValues& coalition_values, const AskValues& ask);

}  // namespace esper::tolaria
