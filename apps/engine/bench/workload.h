#pragma once
// What every row of a measurement trains on: one configuration, one data set, the same batches in the same order.

#include <memory>
#include <span>
#include <vector>

#include "engine/scratch.h"
#include "engine/training_setup.h"
#include "step/train_step.h"

namespace esper::engine::bench {

using Microbatches = std::vector<step::Microbatch>;

struct Workload {
  TrainingSetup setup;
  std::vector<Microbatches> steps;  // the microbatches of each step, all full; at most kMaxSteps, used in turn
  std::string no_compiler{};        // why no compiled lane can be made, where one was asked for; empty: it can
};
inline constexpr std::size_t kMaxSteps = 16;

// The configuration with a text file in the scratch folder, where a scenario wants one that Esper makes up.
config::RunConfig with_made_up_text(config::RunConfig config, const Scratch& scratch);

// Throws Error as set_up() does, and kConfig where the data do not fill one step.
std::unique_ptr<Workload> prepare_workload(const config::RunConfig& config, const std::string& cache_dir);

// For lanes that compile, whatever step.lane says: makes the compile service, or notes in no_compiler why there is
// none.
void prepare_compiling(Workload& workload, const std::string& cache_dir);

// A fresh model at the run's start; each has the same bits.
std::unique_ptr<step::Model> fresh_model(const Workload& workload);

}  // namespace esper::engine::bench
