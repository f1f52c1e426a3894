#include "engine/bench/growth.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "engine/bench/controllers.h"
#include "leyline/statistics.h"

namespace esper::engine::bench {
namespace {

using nlohmann::ordered_json;

constexpr std::uint32_t kFirstGrowth = 6, kLife = 8, kUnsteadyEpochs = 2;

// Steps of the epochs [from, to).
std::vector<double> steps_of(const LoopFigures& figures, std::size_t from, std::size_t to) {
  const auto stride = static_cast<std::size_t>(figures.steps_per_epoch);
  const auto begin = std::min(from * stride, figures.step_us.size()),
             end = std::min(to * stride, figures.step_us.size());
  return {figures.step_us.begin() + static_cast<std::ptrdiff_t>(begin),
          figures.step_us.begin() + static_cast<std::ptrdiff_t>(end)};
}

// The largest excess of a step over the median of its epoch.
double worst_stall(const LoopFigures& figures, std::size_t from, std::size_t to) {
  double worst = 0;
  for (std::size_t epoch = from; epoch < to; ++epoch) {
    const auto steps = steps_of(figures, epoch, epoch + 1);
    worst = std::max(worst, *std::ranges::max_element(steps) - leyline::median(steps));
  }
  return worst;
}

ordered_json changes(const LoopFigures& figures) {
  ordered_json list = ordered_json::array();
  for (const auto& event : figures.events) {
    if (event.at("description") != "seed_stage") continue;
    list.push_back(ordered_json(event.at("attributes")));
  }
  return list;
}

}  // namespace

LoopFigures run_growing(const leyline::RunConfig& config, const Scratch& scratch) {
  return run_loop(config, scratch, "growth", growing_controller(kFirstGrowth, kLife));
}

ordered_json growth_json(const LoopFigures& figures) {
  const auto epochs = figures.step_us.size() / static_cast<std::size_t>(figures.steps_per_epoch);
  if (epochs <= kFirstGrowth + 1) return {{"problem", "too few epochs to grow in; at least 8 are needed"}};
  const double steady = leyline::median(steps_of(figures, kUnsteadyEpochs, kFirstGrowth));
  const auto growing = steps_of(figures, kFirstGrowth, epochs);
  const double slow = leyline::percentile(growing, 99);
  return {{"steady_p50_us", steady},
          {"growing_p99_us", slow},
          {"growing_max_us", *std::ranges::max_element(growing)},
          {"ratio", slow / steady},
          {"worst_stall_us", worst_stall(figures, kFirstGrowth, epochs)},
          {"changes", changes(figures)}};
}

}  // namespace esper::engine::bench
