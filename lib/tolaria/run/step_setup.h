#pragma once
// What surrounds a training step, whoever runs it: before it the learning rates, of the run's schedule and of each
// parameter group where growth.seed_schedule gives seeds their own, and the attribution if it is probed; after it how
// far the host may be ahead of a GPU. Training thread.

#include <map>
#include <span>
#include <string>
#include <vector>

#include "device/queued_work.h"
#include "step/model.h"
#include "step/seed_rates.h"
#include "tolaria/state/run_facts.h"

namespace esper::tolaria {

class StepSetup {
 public:
  // Borrows both.
  StepSetup(const RunFacts& facts, step::Model& model);

  // Before the first step, and after the network or the run's epochs may have changed.
  void follow_network();
  // Sets what the step reads besides the batch. step: its place in the run, from 0. rate_factor: on the learning rate,
  // SafetyRecord's.
  void prepare(std::int64_t step, double rate_factor, std::span<const step::Microbatch> microbatches);
  // Of that step, by parameter group; empty where all have the run's.
  std::map<std::string, double> learning_rates(std::int64_t step, double rate_factor);

 private:
  const RunFacts& facts_;
  step::Model& model_;
  step::SeedSchedule schedule_;
  std::vector<kasmina::ParameterGroup> groups_;  // empty while all groups have the run's rate
  std::vector<double> scales_;                   // of the groups, for the last step
};

// Bounds how many steps wait on a GPU: 8, or 50 ms of shorter ones. Their batches take memory there, and a signal, a
// save and a look at the steps wait for all of them.
device::QueuedWork queued_steps(torch::Device device);

}  // namespace esper::tolaria
