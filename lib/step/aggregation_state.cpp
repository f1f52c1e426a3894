#include "step/aggregation_state.h"

#include <algorithm>
#include <vector>

#include "base/error.h"

namespace esper::step {
namespace {

using config::Attribution;
using kasmina::ParameterGroup;

std::vector<const ParameterGroup*> growing_seeds(std::span<const ParameterGroup> groups) {
  std::vector<const ParameterGroup*> seeds;
  for (const ParameterGroup& group : groups) {
    if (!group.slot.empty() && group.owner == group.id) seeds.push_back(&group);
  }
  return seeds;
}

// A step without surgery: it counts, each vector counts once, all answer alike, nothing was compared.
torch::Tensor plain_figures(std::int64_t num_seeds, torch::Device device) {
  torch::Tensor row = at::zeros({1, kSeedComparisons + 1}, torch::dtype(torch::kFloat64));
  row[0][kSeedSteps] = 1;
  row[0][kSeedWeight] = 1;
  row[0][kSeedTeacherShare] = 1.0 / static_cast<double>(num_seeds);
  return row.repeat({num_seeds, 1}).to(device);
}

torch::Tensor class_shares(const std::vector<config::Entry<config::SlotClasses>>& assigned,
                           const std::vector<const ParameterGroup*>& seeds, torch::Device device) {
  std::int64_t highest = -1;
  for (const auto& entry : assigned) {
    ESPER_CHECK(entry, "growth.aggregation.classes was not checked: " + entry.text());
    for (const std::int64_t one : entry->classes) highest = std::max(highest, one);
  }
  const auto num_seeds = static_cast<std::int64_t>(seeds.size());
  torch::Tensor shares = at::full({highest + 2, num_seeds}, 1.0F / static_cast<float>(num_seeds));
  for (const auto& entry : assigned) {
    const auto seed = std::ranges::find(seeds, entry->slot, &ParameterGroup::slot);
    if (seed == seeds.end()) continue;
    for (const std::int64_t one : entry->classes) {
      shares[one].zero_();
      shares[one][seed - seeds.begin()] = 1;
    }
  }
  return shares.to(device);
}

}  // namespace

bool uses_surgery(const config::AggregationConfig& config) {
  return config.surgery == config::GradientSurgery::kPcgrad && config.attribution != Attribution::kUniform;
}

AggregationState make_aggregation(const AggregationSettings& settings, torch::Device device) {
  AggregationState state;
  if (uses_surgery(settings.config)) state.steps = at::zeros({}, torch::dtype(torch::kInt64).device(device));
  return state;
}

void sync_aggregation(StepState& state, const AggregationSettings& settings, std::span<const ParameterGroup> groups) {
  const auto seeds = growing_seeds(groups);
  std::vector<std::string> seed_ids;
  std::vector<SeedParameter> parameters;
  for (const ParameterGroup* seed : seeds) {
    seed_ids.push_back(seed->id);
    if (settings.config.layers_shown == 0) continue;
    for (const auto& [id, tensor] : seed->parameters) {
      parameters.push_back({id, seed_ids.size() - 1, id.substr(0, id.rfind('.'))});
    }
  }
  sync_seed_sums(state.seed_sums, seed_ids, parameters, state.device);
  AggregationState& aggregation = state.aggregation;
  aggregation.num_seeds = static_cast<std::int64_t>(seeds.size());
  aggregation.plain_figures = seeds.empty() ? torch::Tensor() : plain_figures(aggregation.num_seeds, state.device);
  aggregation.class_shares = aggregation.probed = aggregation.microbatch_gradients = torch::Tensor();
  const bool probes = settings.config.attribution == Attribution::kProbe && uses_surgery(settings.config);
  if (probes && seeds.size() > 1 && settings.microbatches > 1) {
    const auto real = torch::dtype(torch::kFloat32).device(state.device);
    aggregation.probed = at::full({settings.microbatches, aggregation.num_seeds},
                                  1.0 / static_cast<double>(aggregation.num_seeds), real);
  }
  if (seeds.empty() || settings.config.attribution != Attribution::kDataloader) return;
  aggregation.class_shares = class_shares(settings.config.classes, seeds, state.device);
}

}  // namespace esper::step
