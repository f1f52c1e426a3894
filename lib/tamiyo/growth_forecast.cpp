#include "tamiyo/growth_forecast.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <tuple>

namespace esper::tamiyo {
namespace {

using leyline::Observation;
using leyline::SeedState;
using leyline::ValidationChange;

// A module of the host that never grew is none.
bool is_grown_fossil(const SeedState& seed) {
  return seed.stage == leyline::Stage::kFossilized && seed.age_epochs > seed.stage_epochs;
}

struct Life {
  int epochs = 0;
  int seeds = 0;  // that it was measured on
};

std::string source_of(const Life& life) {
  if (life.seeds == 0) return "at the earliest";
  return life.seeds == 1 ? "as the seed before it" : fmt::format("as {} seeds before it", life.seeds);
}

template <class Matches>
Life mean_life(const Observation& observation, int shortest, Matches matches) {
  double sum = 0;
  Life life{shortest, 0};
  for (const auto& seed : observation.seed_states) {
    if (!is_grown_fossil(seed) || !matches(seed)) continue;
    sum += seed.age_epochs - seed.stage_epochs;
    ++life.seeds;
  }
  if (life.seeds > 0) life.epochs = std::max(shortest, static_cast<int>(std::ceil(sum / life.seeds)));
  return life;
}

Life expected_life(const Prospect& prospect, int shortest) {
  const auto own = [&](const SeedState& seed) { return seed.blueprint == prospect.blueprint; };
  const Life life = mean_life(prospect.observation, shortest, own);
  return life.seeds > 0 ? life : mean_life(prospect.observation, shortest, [](const SeedState&) { return true; });
}

std::optional<double> step_cost(const Prospect& prospect) {
  const auto& [blueprints, costs] = std::tie(prospect.slot.blueprints, prospect.slot.step_costs);
  const auto at = static_cast<std::size_t>(std::ranges::find(blueprints, prospect.blueprint) - blueprints.begin());
  return at < costs.size() ? std::optional(costs[at]) : std::nullopt;
}

// The unit that both sides are measured in.
struct Unit {
  const char* name;
  double (*improvement)(const ValidationChange& change);
  std::optional<double> (*gain)(const SeedState& seed);  // upper end of the interval
};

constexpr Unit kLoss{"in validation loss", [](const ValidationChange& change) { return -change.loss; },
                     [](const SeedState& seed) { return bounds_of(seed.figures.worth).loss_upper; }};
constexpr Unit kPoints{"points", [](const ValidationChange& change) { return change.points; },
                       [](const SeedState& seed) -> std::optional<double> {
                         const auto& figures = seed.figures;
                         if (!figures.contribution_points || !figures.contribution_half_width_points) return {};
                         return *figures.contribution_points + *figures.contribution_half_width_points;
                       }};

// The best of the blueprint's fossils.
std::optional<double> expected_gain(const Prospect& prospect, const Unit& unit) {
  std::optional<double> best;
  for (const auto& seed : prospect.observation.seed_states) {
    if (!is_grown_fossil(seed) || seed.blueprint != prospect.blueprint) continue;
    if (const auto gain = unit.gain(seed)) best = std::max(best.value_or(*gain), *gain);
  }
  return best;
}

// What `extra` more epochs at the run's end would gain; nothing where no improvement is shown.
std::optional<double> gain_of_time(const Observation& observation, const Unit& unit, int epochs, double extra) {
  const auto window = static_cast<std::uint32_t>(observation.validation_changes.size());
  const auto* change = leyline::change_over(observation.validation_changes, window);
  if (change == nullptr || !shows_improvement(*change)) return std::nullopt;
  constexpr double kHalf = 0.5;  // of a window, to its middle
  const double end = observation.current_epoch, middle = end - change->after;
  const double after = end - kHalf * (change->after - 1), before = middle - kHalf * (change->before - 1);
  const double c = unit.improvement(*change) / (1 / before - 1 / after);
  return std::max(0.0, c * (1.0 / epochs - 1 / (epochs + extra)));
}

}  // namespace

base::Expected<std::string> forecast(const Prospect& prospect, const Horizon& horizon) {
  const auto& observation = prospect.observation;
  const int left = horizon.epochs - static_cast<int>(observation.current_epoch);
  const Life life = expected_life(prospect, horizon.shortest_life);
  if (left < life.epochs) {
    return base::failure(
        fmt::format("{} epochs left, and earlier seeds needed {} to become part of the host", left, life.epochs));
  }
  auto text =
      fmt::format("forecast: part of the host after {} of the {} epochs left ({})", life.epochs, left, source_of(life));
  const auto cost = step_cost(prospect);
  if (!cost) return text;
  const double extra = *cost * left;
  text += fmt::format(", a step of {:.3g} times the multiply-adds, as many more as {:.3g} epochs without it", 1 + *cost,
                      extra);
  for (const Unit& unit : {kLoss, kPoints}) {
    const auto gain = expected_gain(prospect, unit);
    const auto other = gain_of_time(observation, unit, horizon.epochs, extra);
    if (!gain) continue;
    text += fmt::format(", earlier seeds of {} are worth at most {:.4g} {}", prospect.blueprint, *gain, unit.name);
    if (!other) break;
    if (*gain < *other) {
      return base::failure(fmt::format("it would not pay: {}, and {:.3g} epochs more without it would gain {:.4g}",
                                       text, extra, *other));
    }
    text += fmt::format(", that time {:.4g}", *other);
    break;
  }
  return text;
}

}  // namespace esper::tamiyo
