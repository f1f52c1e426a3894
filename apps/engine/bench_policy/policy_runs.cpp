#include "engine/bench_policy/policy_runs.h"

#include <fmt/core.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "engine/bench/growth/growth.h"
#include "engine/bench/progress.h"
#include "engine/bench/report.h"
#include "storage/real_file_system.h"
#include "tamiyo/decision/action_table.h"
#include "tamiyo/network/initial_weights.h"
#include "tamiyo/network/policy_file.h"

namespace esper::engine::bench {
namespace {

using config::RunConfig;

constexpr int kFewestEpochs = 3, kEpochsToCompile = 12;
constexpr int kShortRuns = 4;  // a run of a pair has this part of the epochs

void raise(tamiyo::Weights& weights, const char* bias, std::size_t place, float value) {
  at::Tensor raised = weights.at(bias).clone();
  raised.mutable_data_ptr<float>()[place] = value;
  weights[bias] = raised;
}

// A network that has not learned, but germinates wherever it may and sees no risk.
void write_germinating_policy(const std::string& path) {
  constexpr std::uint64_t kSeed = 14;
  constexpr float kCertain = 10;
  tamiyo::PolicyFile policy{tamiyo::initial_weights(kSeed)};
  policy.drawn_from = kSeed;
  raise(policy.weights, "policy_logits.bias", static_cast<std::size_t>(tamiyo::Action::kGerminate), kCertain);
  raise(policy.weights, "risk_logits.bias", 0, kCertain);
  tamiyo::save_policy(storage::real_file_system(), path, policy);
}

// Runs the steps of all but the first epochs: of a run that waits for compiled programs.
LoopFigures run_pair_member(RunConfig config, const Scratch& scratch, const std::string& name) {
  config.epochs = std::max(kFewestEpochs, config.epochs / kShortRuns);
  return run_loop(waiting_for_programs(config), scratch, name, scratch.cache_dir());
}

}  // namespace

LoopFigures run_decided_epochs(const RunConfig& given, const Scratch& scratch) {
  RunConfig config = given;
  if (config.policy.file.empty()) {
    config.policy.file = scratch.path("germinating.safetensors");
    write_germinating_policy(config.policy.file);
  }
  RunConfig first = waiting_for_programs(config);
  first.epochs = std::min(config.epochs, kEpochsToCompile);
  show_phase("a run that waits for compiled programs");
  run_loop(first, scratch, "policy-warming", scratch.cache_dir());
  show_phase("whole epochs");
  return run_loop(config, scratch, "policy-epochs", scratch.cache_dir());
}

int growing_seeds(const LoopFigures& figures) {
  int growing = 0;
  for (const auto& event : figures.events) {
    if (event.at("description") != "seed_stage") continue;
    const auto& to = event.at("attributes").at("to");
    if (to == "GERMINATED") ++growing;
    if (to == "CULLED" || to == "FOSSILIZED") --growing;
  }
  return growing;
}

StepCost measure_step_cost(const RunConfig& config, const Scratch& scratch, int pairs) {
  RunConfig on = config, off = config;
  on.policy.file.clear();  // a network that has not learned waits
  off.policy.kind = config::PolicyKind::kNone;
  StepCost cost;
  std::vector<double> on_medians, off_medians;
  const auto run = [&](const RunConfig& one, const std::string& name, std::vector<double>& all,
                       std::vector<double>& medians) {
    const LoopFigures figures = run_pair_member(one, scratch, name);
    cost.steps_per_epoch = figures.steps_per_epoch;
    const auto steps = steady(figures.step_us);
    medians.push_back(base::median(steps));
    all.insert(all.end(), steps.begin(), steps.end());
  };
  for (int i = 0; i < pairs; ++i) {
    show_phase(fmt::format("runs with and without the policy, pair {} of {}", i + 1, pairs));
    const auto run_on = [&] {
      run(on, fmt::format("on-{}-{}", config.data.synthetic.samples, i), cost.on_us, on_medians);
    };
    const auto run_off = [&] {
      run(off, fmt::format("off-{}-{}", config.data.synthetic.samples, i), cost.off_us, off_medians);
    };
    if (i % 2 == 0) {
      run_on();
      run_off();
    } else {
      run_off();
      run_on();
    }
  }
  cost.ratio = base::paired_ratio(on_medians, off_medians);
  return cost;
}

}  // namespace esper::engine::bench
