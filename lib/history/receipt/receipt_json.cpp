// A receipt for programs.

#include <nlohmann/json.hpp>

#include "base/names.h"
#include "history/receipt/receipt.h"

namespace esper::history {
namespace {

using nlohmann::ordered_json;

const char* label_of(Receipt::Origin origin) {
  switch (origin) {
    case Receipt::Origin::kHost:
      return "host.modules";
    case Receipt::Origin::kParent:
      return "parent";
    case Receipt::Origin::kUnknown:
      return "unknown";
    case Receipt::Origin::kGerminated:
      break;
  }
  return "germinated";
}

ordered_json or_null(std::optional<double> value) { return value ? ordered_json(*value) : ordered_json(nullptr); }

ordered_json estimate_json(const char* unit, std::optional<double> value,
                           const std::optional<base::Interval>& interval) {
  return {{unit, or_null(value)},
          {"low", or_null(interval ? std::optional(interval->low) : std::nullopt)},
          {"high", or_null(interval ? std::optional(interval->high) : std::nullopt)}};
}

ordered_json points_json(std::optional<double> points, const std::optional<base::Interval>& interval,
                         const ordered_json& more) {
  ordered_json result = estimate_json("points", points, interval);
  result.update(more);
  return result;
}

ordered_json worth_json(const Worth& worth) {
  return {{"epochs", or_null(worth.epochs)},
          {"accuracy", estimate_json("points", worth.points, worth.points_interval)},
          {"loss", estimate_json("loss", worth.loss, worth.loss_interval)}};
}

ordered_json place_json(const RunPlace& place) { return {{"epoch", place.epoch}, {"step", place.step}}; }

ordered_json swap_json(const std::optional<StructureSwap>& swap) {
  if (!swap) return nullptr;
  return {{"lane", swap->lane},
          {"prepared", swap->prepared},
          {"prepare_ms", swap->prepare_ms},
          {"swap_us", swap->swap_us},
          {"stall_ms", swap->stall_ms}};
}

ordered_json reward_json(const std::optional<SeedReward>& reward) {
  if (!reward) return nullptr;
  ordered_json epochs = ordered_json::array();
  for (const auto& it : reward->epochs) {
    epochs.push_back({{"epoch", it.epoch},
                      {"attribution", it.attribution},
                      {"discount", it.discount},
                      {"ratio_penalty", it.ratio_penalty},
                      {"reward", it.reward}});
  }
  return {{"total", or_null(reward->total)}, {"epochs", std::move(epochs)}, {"missing", reward->missing}};
}

ordered_json place_or_null(const std::optional<RunPlace>& place) {
  return place ? place_json(*place) : ordered_json(nullptr);
}

ordered_json ancestors_json(const Receipt& receipt) {
  ordered_json runs = ordered_json::array();
  for (const auto& it : receipt.ancestors) runs.push_back({{"run_dir", it.run}, {"until", place_json(it.until)}});
  return runs;
}

ordered_json born_json(const std::string& run, const Receipt& receipt) {
  if (!receipt.born) return nullptr;
  ordered_json born = {{"run_dir", receipt.ancestors.empty() ? run : receipt.ancestors.back().run}};
  born.update(place_json(*receipt.born));
  return born;
}

ordered_json timeline_json(const Receipt& receipt) {
  ordered_json timeline = ordered_json::array();
  for (const auto& record : receipt.timeline) timeline.push_back(ordered_json(growth_record_json(record)));
  return timeline;
}

std::optional<double> difference(const StepCost& step) {
  if (!step.before_ms || !step.after_ms) return std::nullopt;
  return *step.after_ms - *step.before_ms;
}

}  // namespace

ordered_json receipt_json(const std::string& run, const Receipt& receipt) {
  ordered_json stages = ordered_json::object();
  for (const auto& [stage, epochs] : receipt.stages) {
    stages[std::string(base::name_of(stage))] = epochs ? ordered_json(*epochs) : ordered_json(nullptr);
  }
  const Contribution& drop = receipt.contribution;
  return {{"run_dir", run},
          {"seed", receipt.seed_id},
          {"slot", receipt.slot},
          {"blueprint", receipt.blueprint},
          {"outcome", label_of(receipt.outcome)},
          {"doubt", receipt.doubt},
          {"reason", receipt.reason},
          {"folded", receipt.folded.empty() ? ordered_json(nullptr) : ordered_json(receipt.folded)},
          {"origin", label_of(receipt.origin)},
          {"born", born_json(run, receipt)},
          {"ended", place_or_null(receipt.ended)},
          {"forked_from", ancestors_json(receipt)},
          {"parameters", or_null(receipt.parameters)},
          {"memory_bytes", or_null(receipt.memory_bytes)},
          {"step_ms",
           {{"before", or_null(receipt.step.before_ms)},
            {"after", or_null(receipt.step.after_ms)},
            {"difference", or_null(difference(receipt.step))},
            {"epochs_before", receipt.step.epochs_before},
            {"epochs_after", receipt.step.epochs_after}}},
          {"stall_ms", {{"graft", or_null(receipt.graft_stall_ms)}, {"cull", or_null(receipt.cull_stall_ms)}}},
          {"swap", swap_json(receipt.swap)},
          {"worth", worth_json(receipt.worth)},
          {"contribution", points_json(drop.points, drop.interval, {{"measurements", drop.measurements}})},
          {"shapley", points_json(drop.shapley_points, drop.shapley_interval,
                                  {{"configurations_needed", or_null(drop.configurations_needed)}})},
          {"reward", reward_json(receipt.reward)},
          {"conflicts", or_null(receipt.conflicts)},
          {"conflict_ratio", or_null(receipt.conflict_ratio)},
          {"isolation_violations", or_null(receipt.isolation_violations)},
          {"epochs_in_stages", std::move(stages)},
          {"events", timeline_json(receipt)},
          {"gaps", receipt.gaps}};
}

}  // namespace esper::history
