#include "sweep/expand.h"

#include <algorithm>
#include <set>
#include <utility>

#include "base/error.h"
#include "sweep/draw.h"

namespace esper::sweep {
namespace {

// In a row that were drawn before; then a further one is looked for in the order of the grid.
constexpr int kMostRepeats = 1000;

Configuration combination_at(const Sweep& sweep, std::uint64_t index) {
  Configuration configuration(sweep.parameters.size());
  for (std::size_t i = configuration.size(); i-- > 0;) {
    const std::uint64_t count = num_values(sweep.parameters[i]).value();
    configuration[i] = value_at(sweep.parameters[i], index % count);
    index /= count;
  }
  return configuration;
}

std::vector<Configuration> whole_grid(const Sweep& sweep, std::uint64_t count) {
  ESPER_CHECK(count <= SweepLimits::kJobs, "more configurations than a sweep may have");
  std::vector<Configuration> all;
  for (std::uint64_t i = 0; i < count; ++i) all.push_back(combination_at(sweep, i));
  return all;
}

class Sampler {
 public:
  explicit Sampler(const Sweep& sweep) : sweep_(sweep), combinations_(num_combinations(sweep)) {}

  // Nothing where there is no further one.
  std::optional<Configuration> next() {
    for (int repeats = 0; repeats < kMostRepeats; ++repeats) {
      Configuration drawn;
      for (const Parameter& parameter : sweep_.parameters) {
        drawn.push_back(draw_value(parameter, sweep_.settings.seed, counter_));
      }
      ++counter_;
      if (taken_.insert(drawn).second) return drawn;
    }
    return first_free();
  }

 private:
  std::optional<Configuration> first_free() {
    for (; combinations_ && first_ < *combinations_; ++first_) {
      Configuration combination = combination_at(sweep_, first_);
      if (taken_.insert(combination).second) return combination;
    }
    return std::nullopt;
  }

  const Sweep& sweep_;
  std::optional<std::uint64_t> combinations_;
  std::set<Configuration> taken_;
  std::uint64_t counter_ = 0;
  std::uint64_t first_ = 0;  // combination that may be free
};

}  // namespace

std::optional<std::uint64_t> num_combinations(const Sweep& sweep) {
  constexpr std::uint64_t kMost = 1ull << 63;
  std::uint64_t product = 1;
  for (const Parameter& parameter : sweep.parameters) {
    const auto count = num_values(parameter);
    if (!count || (*count > 0 && product > kMost / *count)) return std::nullopt;
    product *= *count;
  }
  return product;
}

std::vector<Configuration> configurations(const Sweep& sweep) {
  const auto combinations = num_combinations(sweep);
  const auto wanted = static_cast<std::uint64_t>(std::max(sweep.settings.samples, 0));
  if (sweep.settings.method == Method::kGrid) {
    ESPER_CHECK(combinations.has_value(), "a grid of real numbers");
    return whole_grid(sweep, *combinations);
  }
  if (combinations && *combinations <= wanted) return whole_grid(sweep, *combinations);
  std::vector<Configuration> drawn;
  Sampler sampler(sweep);
  while (drawn.size() < wanted) {
    auto next = sampler.next();
    if (!next) break;
    drawn.push_back(std::move(*next));
  }
  return drawn;
}

std::vector<std::string> assignments_of(const Sweep& sweep, const Configuration& configuration) {
  std::vector<std::string> assignments;
  for (std::size_t i = 0; i < configuration.size(); ++i) {
    assignments.push_back(sweep.parameters.at(i).key + "=" + configuration[i]);
  }
  return assignments;
}

std::vector<Trial> expand(const Sweep& sweep) {
  std::vector<Trial> trials;
  const auto all = configurations(sweep);
  for (std::size_t index = 0; index < all.size(); ++index) {
    for (const std::uint64_t seed : sweep.seeds) {
      Trial trial{index, seed, assignments_of(sweep, all[index])};
      trial.assignments.push_back("seed=" + std::to_string(seed));
      if (sweep.settings.method == Method::kHalving) {
        trial.assignments.push_back("epochs=" + std::to_string(sweep.settings.halving.min_epochs));
      }
      trials.push_back(std::move(trial));
    }
  }
  return trials;
}

}  // namespace esper::sweep
