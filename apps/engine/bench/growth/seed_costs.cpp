#include "engine/bench/growth/seed_costs.h"

#include <fmt/core.h>
#include <torch/types.h>

#include "base/error.h"
#include "engine/bench/growth/grown.h"
#include "engine/bench/progress.h"
#include "engine/bench/rounds.h"
#include "engine/bench/trainee.h"

namespace esper::engine::bench {
namespace {

using config::AggregationConfig;
using config::Lane;
using config::SeedTraining;
using ModelPointer = std::unique_ptr<step::Model>;

constexpr std::size_t kMicrobatches = 4;
constexpr double kRoundMs = 40;

AggregationConfig surgery() {
  AggregationConfig config;
  config.attribution = config::Attribution::kApprox;
  return config;
}

AggregationConfig plain() {
  AggregationConfig config;
  config.surgery = config::GradientSurgery::kNone;
  return config;
}

AggregationConfig without_figures() {
  AggregationConfig config = plain();
  config.seed_figures = false;
  return config;
}

// The workload's microbatches, kMicrobatches a step.
std::vector<Microbatches> longer_steps(const Workload& workload) {
  std::vector<Microbatches> steps;
  Microbatches step;
  for (const auto& shorter : workload.steps) {
    for (const auto& microbatch : shorter) {
      step.push_back(microbatch);
      if (step.size() == kMicrobatches) steps.push_back(std::exchange(step, {}));
    }
  }
  ESPER_CHECK(!steps.empty(), "too few microbatches to accumulate");
  return steps;
}

struct Bench {
  const Workload& workload;
  const std::vector<Microbatches>& steps;
  Lane lane;
  int rounds;

  Contender contender(ModelPointer model) const {
    Trainee trainee = lane_trainee(workload, lane, std::move(model), steps);
    if (!trainee.refusal.empty()) throw base::Error(base::ExitCode::kResources, trainee.refusal);
    return contender_of(std::move(trainee), workload.setup.device);
  }
  SeedCost compare(const std::string& name, ModelPointer with, ModelPointer without) const {
    show_phase(name);
    const auto rows = take_turns({contender(std::move(with)), contender(std::move(without))}, {rounds, kRoundMs, {}});
    for (const Row& row : rows) {
      if (!row.failure.empty()) throw base::Error(base::ExitCode::kResources, name + ": " + row.failure);
    }
    return {name, ratio(rows[0], rows[1])};
  }
  SeedCost compare(const std::string& name, int seeds, const AggregationConfig& with,
                   const AggregationConfig& without) const {
    return compare(name, grown_model(workload, seeds, with), grown_model(workload, seeds, without));
  }
};

std::string name_of(const char* what, int seeds, const char* against) {
  return fmt::format("{}_{}_{}/{}", what, seeds, seeds == 1 ? "seed" : "seeds", against);
}

}  // namespace

std::vector<SeedCost> seed_costs(const Workload& workload, int rounds) {
  const auto steps = longer_steps(workload);
  const Lane wanted = workload.setup.config.step.lane;
  const Lane lane = wanted == Lane::kAuto ? Lane::kReplay : wanted;
  const Bench short_bench{workload, workload.steps, lane, rounds}, bench{workload, steps, lane, rounds};
  std::vector<SeedCost> ratios;
  for (const int seeds : {1, kMostSeeds}) {
    ratios.push_back(short_bench.compare(name_of("shadow", seeds, "straight_through"),
                                         training_model(workload, seeds, SeedTraining::kShadow),
                                         training_model(workload, seeds, SeedTraining::kStraightThrough)));
  }
  for (int seeds = 1; seeds <= kMostSeeds; ++seeds) {
    ratios.push_back(bench.compare(name_of("pcgrad", seeds, "plain"), seeds, surgery(), plain()));
  }
  for (const int seeds : {1, kMostSeeds}) {
    ratios.push_back(bench.compare(name_of("seed_figures", seeds, "without"), seeds, plain(), without_figures()));
  }
  return ratios;
}

}  // namespace esper::engine::bench
