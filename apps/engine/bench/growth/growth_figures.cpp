#include "engine/bench/growth/growth_figures.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/statistics.h"

namespace esper::engine::bench {
namespace {

using nlohmann::ordered_json;

constexpr std::size_t kWindow = 100, kFewestStepsOfStructure = 40;

// The steps of one structure, [begin, end).
struct Stretch {
  std::size_t begin = 0, end = 0;
};

std::vector<double> steps_of(const LoopFigures& figures, std::size_t begin, std::size_t end) {
  return {figures.step_us.begin() + static_cast<std::ptrdiff_t>(begin),
          figures.step_us.begin() + static_cast<std::ptrdiff_t>(end)};
}

bool changes_structure(const nlohmann::json& event) {
  if (event.at("description") != "seed_stage") return false;
  const auto& to = event.at("attributes").at("to");
  return to == "GERMINATED" || to == "CULLED" || to == "FOSSILIZED";
}

// From each change to the next. One that comes before the steps before it say anything is passed over.
std::vector<Stretch> stretches(const LoopFigures& figures) {
  std::vector<std::size_t> begins;
  for (const auto& event : figures.events) {
    if (!changes_structure(event)) continue;
    const auto epoch = std::stoul(event.at("attributes").at("epoch").get<std::string>());
    begins.push_back(epoch * static_cast<std::size_t>(figures.steps_per_epoch));
  }
  std::ranges::sort(begins);
  begins.push_back(figures.step_us.size());
  std::vector<Stretch> found;
  for (std::size_t i = 0; i + 1 < begins.size(); ++i) {
    if (begins[i] + kFewestStepsOfStructure <= begins[i + 1]) found.push_back({begins[i], begins[i + 1]});
  }
  return found;
}

ordered_json changes(const LoopFigures& figures) {
  ordered_json list = ordered_json::array();
  for (const auto& event : figures.events) {
    if (event.at("description") == "seed_stage") list.push_back(ordered_json(event.at("attributes")));
  }
  return list;
}

// An attribute of each change, as the run reported it.
std::vector<double> reported(const LoopFigures& figures, const char* attribute) {
  std::vector<double> values;
  for (const auto& event : figures.events) {
    if (event.at("description") != "tolaria.growth_swapped") continue;
    values.push_back(std::stod(event.at("attributes").at(attribute).get<std::string>()));
  }
  return values;
}

double worst_pause(const LoopFigures& figures) {
  return *std::ranges::max_element(figures.pause_ms) - base::median(figures.pause_ms);
}

// Every step's and pause's median over runs that do the same at the same step; the rest is the last run's.
LoopFigures typical_of(std::span<const LoopFigures> runs) {
  LoopFigures typical = runs.back();
  for (auto times : {&LoopFigures::step_us, &LoopFigures::pause_ms}) {
    for (std::size_t i = 0; i < (typical.*times).size(); ++i) {
      std::vector<double> same;
      for (const LoopFigures& run : runs) same.push_back((run.*times).at(i));
      (typical.*times)[i] = base::median(same);
    }
  }
  return typical;
}

}  // namespace

ordered_json growth_json(const LoopFigures& figures) {
  const auto found = stretches(figures);
  if (found.empty()) return {{"problem", "too few epochs to grow: epochs >= 11 needed"}};
  std::vector<double> ratios, steady, steady_ratios;
  double worst_step_us = 0;
  for (const auto& [begin, end] : found) {
    const auto later = steps_of(figures, begin + (end - begin) / 2, end);
    steady.push_back(base::median(later));
    for (const double step : later) steady_ratios.push_back(step / steady.back());
    for (const double step : steps_of(figures, begin, std::min(begin + kWindow, end))) {
      ratios.push_back(step / steady.back());
      worst_step_us = std::max(worst_step_us, step - steady.back());
    }
  }
  const double step_stall = worst_step_us / 1e3, pause_stall = worst_pause(figures);
  return {{"window_steps", kWindow},
          {"windows", found.size()},
          {"steady_p50_us", base::median(steady)},
          {"ratio", base::percentile(ratios, 99)},
          {"steady_ratio", base::percentile(steady_ratios, 99)},
          {"worst_step_stall_ms", step_stall},
          {"worst_pause_stall_ms", pause_stall},
          {"worst_stall_ms", std::max(step_stall, pause_stall)},
          {"prepare_ms", reported(figures, "prepare_ms")},
          {"swap_us", reported(figures, "swap_us")},
          {"stall_ms", reported(figures, "stall_ms")},
          {"changes", changes(figures)}};
}

ordered_json growth_json(std::span<const LoopFigures> runs) {
  ESPER_CHECK(!runs.empty(), "no epoch was run");
  ordered_json all = growth_json(typical_of(runs));
  if (all.contains("problem")) return all;
  ordered_json ratios = ordered_json::array();
  for (const LoopFigures& run : runs) {
    const ordered_json one = growth_json(run);
    ratios.push_back(one.at("ratio"));
    for (const char* worst : {"worst_step_stall_ms", "worst_pause_stall_ms", "worst_stall_ms"}) {
      all[worst] = std::max(all[worst].get<double>(), one.at(worst).get<double>());
    }
  }
  all["ratio_of_each_run"] = std::move(ratios);
  return all;
}

}  // namespace esper::engine::bench
