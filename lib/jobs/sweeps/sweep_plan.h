#pragma once
// What a sweep does next, as a function of what is stored of its jobs. Pure functions; any thread.

#include <vector>

#include "jobs/job/sweep_record.h"
#include "sweep/progress.h"
#include "sweep/sweep.h"

namespace esper::jobs {

struct SweepPlan {
  std::vector<SweepStep> due{};  // that are to begin, or to go on to the next rung
  std::vector<JobId> begin{};    // that max_running allows now, the most urgent first; of `due` and of earlier ones
  bool has_ended = false;        // nothing is left to do, and nothing runs
};

// trials: all of the sweep's, configuration by configuration and seed by seed.
SweepPlan plan_sweep(const sweep::Sweep& sweep, std::vector<SweepTrial> trials);

// Of every configuration, as the table of results and halving need it.
std::vector<sweep::ConfigurationProgress> progress_of(const sweep::Sweep& sweep, std::vector<SweepTrial> trials);

// How many rungs the sweep has; 1 without halving.
std::size_t num_rungs(const sweep::Sweep& sweep);
// What a job is trained to that is to reach this rung; 0 without halving: as its run file says.
std::int64_t epochs_of_rung(const sweep::Sweep& sweep, std::size_t rung);

}  // namespace esper::jobs
