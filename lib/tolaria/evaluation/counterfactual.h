#pragma once
// The contribution of each active seed: validation with every seed on or off, in all combinations or in sampled ones.
// Definitions: tolaria/evaluation/shapley.h; players are the active seeds in order of birth, and v(S) is the validation
// accuracy, in points, with the seeds of S as they run and the other active seeds at alpha 0. Training thread.

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "config/growth_config.h"
#include "tolaria/evaluation/evaluation.h"

namespace esper::tolaria {

// In points. The standard error covers validation samples and, if orders were drawn, those too; empty if there were
// fewer than two of either. Value plus and minus half_width is the 95 % interval: Student's t, and never narrower than
// the rule of three's, since samples that made no difference do not show that none would.
struct Estimate {
  double value = 0;
  std::optional<double> standard_error, half_width;
};

struct ValueOfSeed {
  std::string seed_id;
  double accuracy_without = 0;      // 0..1
  Estimate contribution;            // the last contribution: v(all) - v(all but this one)
  std::optional<Estimate> shapley;  // empty if the budget allowed no draw
};

struct ValueOfPair {
  std::string first, second;  // seed ids, in order of birth
  Estimate interaction;
};

// What growth.counterfactual.max_configurations was too small for.
struct BudgetLimit {
  enum class Omitted { kInteractions, kStandardErrors, kShapleyValues } omitted = Omitted::kShapleyValues;
  int needed = 0;  // configurations that are enough for it
};
constexpr auto names(BudgetLimit::Omitted) {
  using O = BudgetLimit::Omitted;
  return std::array{std::pair{O::kInteractions, "interactions"},
                    std::pair{O::kStandardErrors, "standard errors of Shapley values"},
                    std::pair{O::kShapleyValues, "Shapley values"}};
}

struct Counterfactual {
  enum class End {
    kNotDue,       // nothing to measure in this epoch
    kMeasured,     // as far as the budget went
    kLate,         // stopped at the deadline: no values
    kInterrupted,  // stopped by a signal: no values
  } end = End::kNotDue;
  std::vector<ValueOfSeed> seeds;
  std::vector<ValueOfPair> pairs;
  double loss = 0, accuracy = 0;      // of all seeds as they run
  double accuracy_without_seeds = 0;  // of all active seeds at alpha 0
  int configurations = 0;             // number evaluated
  int permutations = 0;               // number drawn; 0: Shapley values, if any, are exact
  std::optional<BudgetLimit> limit;   // empty: nothing was omitted for the budget
  double latency_ms = 0;
};

// True if there is an active seed, and the epoch (from 1) is due or a seed waits for gate G5.
bool counterfactual_is_due(const kasmina::Network& network, const config::CounterfactualConfig& config,
                           std::uint32_t epoch);

// Exact if growth.counterfactual.max_configurations covers all combinations, else from drawn orders; the last
// contribution of each seed is measured in either case, before anything is drawn. Interactions are measured where the
// budget holds two draws with them, since one has no error. Uses the model as it is: the caller holds an AveragedModel.
// Drawn orders depend only on the run's seed and the epoch, their number also on the deadline. The run's state is
// unchanged.
Counterfactual measure_counterfactual(const Evaluation& evaluation, std::uint32_t epoch);

}  // namespace esper::tolaria
