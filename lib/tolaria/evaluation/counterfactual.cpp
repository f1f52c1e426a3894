#include "tolaria/evaluation/counterfactual.h"

#include <torch/types.h>

#include <algorithm>

#include "base/hash.h"
#include "base/interrupt.h"
#include "base/text/rounding.h"
#include "kasmina/network/network_seeds.h"
#include "tolaria/evaluation/shapley.h"
#include "tolaria/evaluation/shapley_sampling.h"
#include "tolaria/evaluation/validation_pass.h"

namespace esper::tolaria {

using base::Interrupt;
using base::StandardError;

namespace {

constexpr double kAccuracyPoints = 100;

bool interrupted() { return Interrupt::requested() != 0; }

constexpr StandardError kNoError{0};

// The validation data as a game between seeds.
class SeedGame {
 public:
  explicit SeedGame(const Evaluation& evaluation)
      : evaluation_(evaluation),
        config_(evaluation.facts.config.growth.counterfactual),
        seeds_(kasmina::active_seeds(evaluation.model.network.state())),
        begin_(evaluation.facts.clock.now()) {}

  int players() const { return static_cast<int>(seeds_.size()); }
  CoalitionValues& coalition_values() { return coalition_values_; }

  // Evaluates unknown coalitions in one pass. False at the deadline and on a signal.
  bool ask(const std::vector<Coalition>& wanted) {
    std::vector<kasmina::Configuration> configurations;
    for (const Coalition coalition : wanted) configurations.push_back(configuration_of(coalition));
    const auto before = elapsed();
    auto pass = stacked_pass(evaluation_, configurations, [this] { return is_late(); });
    longest_pass_ = std::max(longest_pass_, elapsed() - before);
    if (!pass.complete) return false;
    for (std::size_t i = 0; i < wanted.size(); ++i) {
      coalition_values_[wanted[i]] = pass.score[i];
      losses_[wanted[i]] = pass.loss[i];
      outcomes_[wanted[i]] = std::move(pass.correct[i]);
    }
    return true;
  }
  // True if another pass like those so far would finish in time.
  bool has_time() const { return elapsed() + longest_pass_ < config_.deadline; }
  bool is_late() const { return elapsed() > config_.deadline; }
  base::Duration elapsed() const { return evaluation_.facts.clock.now() - begin_; }

  // sampling_error: kNoError for an exact value.
  Estimate estimate(const Contrast& contrast, const std::optional<StandardError>& sampling_error) const {
    Estimate out{kAccuracyPoints * value_of(contrast, coalition_values_), {}, {}};
    const auto over_samples = standard_error(contrast, outcomes_);
    if (!over_samples || !sampling_error) return out;
    const auto error = base::joined_error(*over_samples, *sampling_error);
    const std::size_t samples = outcomes_.begin()->second.size();
    out.standard_error = kAccuracyPoints * error.value;
    out.half_width =
        kAccuracyPoints * base::at_least_rule_of_three(base::half_width_95(error), samples, largest_effect(contrast));
    return out;
  }
  void report_runs(Counterfactual& out) const {
    const Coalition all = all_players(players());
    out.loss = losses_.at(all);
    out.accuracy = coalition_values_.at(all);
    out.accuracy_without_seeds = coalition_values_.at(0);
    out.configurations = static_cast<int>(coalition_values_.size());
    for (int i = 0; i < players(); ++i) {
      const auto contrast = last_contrast(players(), i);
      const double without = coalition_values_.at(all & ~(Coalition{1} << i));
      out.seeds.push_back({seeds_[static_cast<std::size_t>(i)], without, estimate(contrast, kNoError), std::nullopt});
    }
  }
  void report_pair(int first, int second, const Estimate& interaction, Counterfactual& out) const {
    out.pairs.push_back(
        {seeds_[static_cast<std::size_t>(first)], seeds_[static_cast<std::size_t>(second)], interaction});
  }

 private:
  kasmina::Configuration configuration_of(Coalition coalition) const {
    kasmina::Configuration off;
    for (std::size_t i = 0; i < seeds_.size(); ++i) {
      if ((coalition >> i & 1) == 0) off[seeds_[i]] = 0;
    }
    return off;
  }

  const Evaluation& evaluation_;
  const config::CounterfactualConfig& config_;
  std::vector<std::string> seeds_;
  base::Duration begin_, longest_pass_{};
  CoalitionValues coalition_values_, losses_;
  Outcomes outcomes_;
};

bool fits_exactly(int players, const config::CounterfactualConfig& config) {
  return players <= kMostExactPlayers && all_players(players) < static_cast<Coalition>(config.max_configurations);
}

bool measure_exactly(SeedGame& game, Pairs pairs, Counterfactual& out) {
  const int players = game.players();
  std::vector<Coalition> all;
  for (Coalition coalition = 0; coalition <= all_players(players); ++coalition) all.push_back(coalition);
  if (!game.ask(all)) return false;
  game.report_runs(out);
  for (int i = 0; i < players; ++i) {
    out.seeds[static_cast<std::size_t>(i)].shapley = game.estimate(shapley_contrast(players, i), kNoError);
    for (int j = i + 1; j < players && pairs == Pairs::kMeasured; ++j) {
      game.report_pair(i, j, game.estimate(interaction_contrast(players, i, j), kNoError), out);
    }
  }
  return true;
}

// The empty coalition, the full one, and the full one without each player.
std::vector<Coalition> ablations(int players) {
  std::vector<Coalition> wanted = {0, all_players(players)};
  for (int i = 0; i < players; ++i) wanted.push_back(all_players(players) & ~(Coalition{1} << i));
  return wanted;
}

bool measure_by_drawing(SeedGame& game, const Sampling& sampling, Counterfactual& out) {
  if (!game.ask(ablations(game.players()))) return false;
  // A pass that cannot finish in time is not started, so that the deadline costs draws and never a pass.
  const auto sampled =
      sample_game(sampling, game.coalition_values(), [&](const std::vector<Coalition>& wanted, CoalitionValues&) {
        return game.has_time() && !interrupted() && game.ask(wanted);
      });
  game.report_runs(out);
  out.permutations = sampled.permutations;
  for (std::size_t i = 0; i < sampled.shapley.size(); ++i) {
    out.seeds[i].shapley = game.estimate(sampled.shapley[i].contrast, sampled.shapley[i].sampling_error);
  }
  for (const auto& [pair, figure] : sampled.interactions) {
    game.report_pair(pair.first, pair.second, game.estimate(figure.contrast, figure.sampling_error), out);
  }
  return true;
}

// Fewer have no error.
constexpr int kFewestDraws = 2;

// Configurations that these draws and the ablations need at most.
int configurations_of(int players, int draws, Pairs pairs) {
  const int drawn = players + 2 + static_cast<int>(most_coalitions_of(players, draws, pairs));
  return players > kMostExactPlayers ? drawn : std::min(drawn, 1 << players);
}

Pairs pairs_of_draws(int players, const config::CounterfactualConfig& config) {
  const bool fits = configurations_of(players, kFewestDraws, Pairs::kMeasured) <= config.max_configurations;
  return config.pairs && fits ? Pairs::kMeasured : Pairs::kLeftOut;
}

// A deadline may have ended the draws instead.
std::optional<BudgetLimit> limit_of(const Counterfactual& measured, const config::CounterfactualConfig& config) {
  using Omitted = BudgetLimit::Omitted;
  const int players = static_cast<int>(measured.seeds.size());
  const auto lacks = [&](int draws, Pairs pairs) {
    return configurations_of(players, draws, pairs) > config.max_configurations;
  };
  const int needed = configurations_of(players, kFewestDraws, Pairs::kLeftOut);
  const int draws = measured.permutations / 2;
  if (draws == 0 && lacks(1, Pairs::kLeftOut)) return BudgetLimit{Omitted::kShapleyValues, needed};
  if (draws == 1 && lacks(kFewestDraws, Pairs::kLeftOut)) return BudgetLimit{Omitted::kStandardErrors, needed};
  if (!config.pairs || !lacks(kFewestDraws, Pairs::kMeasured)) return std::nullopt;
  return BudgetLimit{Omitted::kInteractions, configurations_of(players, kFewestDraws, Pairs::kMeasured)};
}

Sampling sampling_of(const config::RunConfig& config, std::uint32_t epoch, int players) {
  // Coalitions of one round: as many as four seeds make, for which a batch is cut into pieces.
  constexpr std::size_t kInARound = 16;
  Sampling sampling;
  sampling.players = players;
  sampling.seed = base::mix64(config.seed) ^ epoch;
  sampling.pairs = pairs_of_draws(players, config.growth.counterfactual);
  sampling.most_coalitions = static_cast<std::size_t>(config.growth.counterfactual.max_configurations);
  sampling.most_in_a_round = kInARound;
  return sampling;
}

}  // namespace

bool counterfactual_is_due(const kasmina::Network& network, const config::CounterfactualConfig& config,
                           std::uint32_t epoch) {
  if (kasmina::active_seeds(network.state()).empty()) return false;
  if (!kasmina::seeds_to_measure(network.state()).empty()) return true;
  const auto every = static_cast<std::uint32_t>(config.every_epochs);
  return every > 0 && epoch % every == 0;
}

Counterfactual measure_counterfactual(const Evaluation& evaluation, std::uint32_t epoch) {
  using End = Counterfactual::End;
  SeedGame game(evaluation);
  const auto& run_config = evaluation.facts.config;
  const auto& config = run_config.growth.counterfactual;
  const bool exactly = fits_exactly(game.players(), config);
  const Pairs pairs = config.pairs ? Pairs::kMeasured : Pairs::kLeftOut;
  Counterfactual out;
  const bool measured = exactly ? measure_exactly(game, pairs, out)
                                : measure_by_drawing(game, sampling_of(run_config, epoch, game.players()), out);
  if (measured && !exactly) out.limit = limit_of(out, config);
  out.end = interrupted() ? End::kInterrupted : measured ? End::kMeasured : End::kLate;
  out.latency_ms = base::milliseconds(game.elapsed());
  return out;
}

}  // namespace esper::tolaria
