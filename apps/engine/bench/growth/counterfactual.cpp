#include "engine/bench/growth/counterfactual.h"

#include <torch/types.h>

#include <chrono>
#include <cmath>

#include "base/error.h"
#include "engine/bench/growth/grown.h"
#include "kasmina/network/network_seeds.h"
#include "kasmina/network/network_stacked.h"
#include "tolaria/evaluation/stacked_validation.h"

namespace esper::engine::bench {
namespace {

constexpr int kSeeds = kMostSeeds;
constexpr double kMaxDifference = 1e-2;  // of the loss, relative: short types round

// Each seed of the network at alpha 0 or 1, the last one all at 1.
std::vector<kasmina::Configuration> all_on_and_off(const kasmina::Network& network) {
  std::vector<kasmina::Configuration> all(std::size_t{1} << kSeeds);
  const auto seeds = kasmina::export_seed_states(network.state());
  ESPER_CHECK(seeds.size() == kSeeds, "a seed did not grow");
  for (std::size_t on = 0; on < all.size(); ++on) {
    for (std::size_t i = 0; i < seeds.size(); ++i) all[on][seeds[i].seed_id] = (on >> i & 1) != 0 ? 1 : 0;
  }
  return all;
}

tolaria::NextBatch each_of(const std::vector<step::Microbatch>& batches) {
  return [&batches, next = std::size_t{0}]() mutable -> std::optional<step::Microbatch> {
    if (next == batches.size()) return std::nullopt;
    return batches[next++];
  };
}

double milliseconds_of(const std::function<void()>& pass) {
  const auto begin = std::chrono::steady_clock::now();
  pass();
  return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - begin).count();
}

}  // namespace

base::RatioEstimate counterfactual_ratio(const Workload& workload, int rounds) {
  const auto& setup = workload.setup;
  const auto model = grown_model(workload, kSeeds);
  std::vector<step::Microbatch> batches;
  for (const auto& step : workload.steps) batches.insert(batches.end(), step.begin(), step.end());
  const auto configurations = all_on_and_off(model->network);
  const auto plan = kasmina::plan_stacked(model->network.state(), configurations),
             full = kasmina::plan_stacked(model->network.state(), {&configurations.back(), 1});
  tolaria::Validation validation{setup.device, setup.settings.compute_type, {}};
  validation.scoring = tolaria::scoring_of(setup.settings);
  validation.figures = tolaria::Figures::kScore;  // as the stacked pass
  const auto rows = setup.config.growth.counterfactual.max_rows;
  const auto stacked = [&] { return validate_stacked(each_of(batches), {model->network, plan, rows}, validation); };
  const auto plain = [&] {
    const auto forward = [&](const torch::Tensor& x) { return model->network.forward(x, kasmina::Mode::kEvaluate); };
    return validate(each_of(batches), forward, validation);
  };
  const double together = stacked().loss.back();
  const double alone = validate_stacked(each_of(batches), {model->network, full, rows}, validation).loss.front();
  ESPER_CHECK(std::abs(together - alone) <= kMaxDifference * alone, "a stacked pass and a single one disagree");
  std::vector<double> ours, theirs;
  for (int round = 0; round < rounds; ++round) {
    theirs.push_back(milliseconds_of([&] { plain(); }));
    ours.push_back(milliseconds_of([&] { stacked(); }));
  }
  return base::paired_ratio(ours, theirs);
}

}  // namespace esper::engine::bench
