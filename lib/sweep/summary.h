#pragma once
// The results of a sweep as a table (`esper sweep show`). Pure functions; any thread.

#include <cstdint>
#include <map>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "sweep/progress.h"
#include "sweep/sweep.h"

namespace esper::sweep {

struct SeedFigure {
  enum class State { kPending, kDone, kFailed };
  std::uint64_t seed = 0;
  State state = State::kPending;
  std::optional<double> value;  // of the metric; of kDone alone
};

// A configuration, at the highest rung that all its seeds have reached or failed before.
struct SummaryRow {
  std::size_t configuration = 0;
  std::map<std::string, std::string> parameters;
  int epochs = 0;  // of halving: at this rung; else 0
  std::vector<SeedFigure> seeds;
  std::size_t done = 0, failed = 0;  // of the seeds
  std::optional<double> mean;        // of those that are done
  std::optional<double> half_width;  // mean plus and minus this is its 95 % interval; from two seeds on
};

// The best mean against the second, by the differences between runs of the same seed.
struct Comparison {
  std::size_t best = 0, second = 0;  // configurations
  std::size_t pairs = 0;
  double lead = 0;                  // mean of the differences; positive where the best is better
  std::optional<double> low, high;  // its 95 % interval, by Student's t; from two pairs on
  bool excludes_zero = false;
};

struct Summary {
  std::string name;
  config::Metric metric = config::Metric::kLoss;
  Goal goal = Goal::kMinimize;
  std::size_t complete = 0;  // rows whose seeds are all there, none failed
  // Complete ones first, then those with seeds to come, then those with failures, then those without any figure; in
  // each group by epochs, then by mean, the best first.
  std::vector<SummaryRow> rows;
  std::optional<std::size_t> best;       // configuration of the best mean among complete rows with the most epochs
  std::optional<Comparison> comparison;  // where a second one has as many epochs
};

// progress: of every configuration, in the order of configurations().
Summary summarize(const Sweep& sweep, std::span<const ConfigurationProgress> progress);

// A table with aligned columns, and below it what it says about the best.
std::string summary_text(const Summary& summary);
nlohmann::json summary_json(const Summary& summary);

}  // namespace esper::sweep
