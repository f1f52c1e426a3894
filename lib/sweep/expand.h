#pragma once
// From a sweep to its trials. The same sweep has the same trials on every machine and for ever: draws are a function of
// the sweep's seed, the parameter's name and a counter, in arithmetic that is exact or rounded alike everywhere.
// Any thread.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "sweep/sweep.h"

namespace esper::sweep {

// Of each parameter its value, as a run file has it.
using Configuration = std::vector<std::string>;

// One job: a configuration trained from one seed.
struct Trial {
  std::size_t configuration = 0;         // index into configurations()
  std::uint64_t seed = 0;                // the run's
  std::vector<std::string> assignments;  // "training.optimizer.lr=0.1"; the last ones are seed and, for halving, epochs
};

// Different configurations that there are; nothing where they cannot be counted: a range of real numbers, or more than
// 2^63.
std::optional<std::uint64_t> num_combinations(const Sweep& sweep);

// Grid: the product, the last parameter's values varying fastest; at most SweepLimits::kJobs of them. Random and
// halving: `samples` different ones, drawn; all of them in the order of the grid where there are no more; fewer where
// drawing finds no further one.
std::vector<Configuration> configurations(const Sweep& sweep);

// "key=value" of each parameter.
std::vector<std::string> assignments_of(const Sweep& sweep, const Configuration& configuration);

// Every configuration with every seed, configuration by configuration; with halving as they start, at the first rung.
std::vector<Trial> expand(const Sweep& sweep);

}  // namespace esper::sweep
