#pragma once
// The learning rates of a step: of the run's schedule, and of each parameter group where growth.seed_schedule gives
// seeds their own. A pure function of the step and the network's seeds. Training thread.

#include <vector>

#include "step/model.h"
#include "step/seed_rates.h"
#include "tolaria/run/run_facts.h"

namespace esper::tolaria {

class LearningRates {
 public:
  // Borrows both.
  LearningRates(const RunFacts& facts, step::Model& model);

  // Before the first step, and after the network may have changed.
  void follow_network();
  // Before each step: the run's step, from 0.
  void set(std::int64_t step);

 private:
  const RunFacts& facts_;
  step::Model& model_;
  step::SeedSchedule schedule_;
  std::vector<kasmina::ParameterGroup> groups_;  // empty while all groups have the run's rate
};

}  // namespace esper::tolaria
