#pragma once
// Sweeps as they are stored: their files, which it keeps once it has read them, and what follows from these and from
// what their jobs came to. Writes nothing. On the loop's thread.

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/expected.h"
#include "jobs/store/sweep_store.h"
#include "jobs/store/trial_store.h"
#include "jobs/sweeps/loaded_sweep.h"
#include "jobs/sweeps/sweep_report.h"

namespace esper::jobs {

// Methods are about a sweep that exists. They throw base::ConfigError where this version does not take the stored files
// any more, missing_row() where a row of the sweep's was lost, and DatabaseError.
class StoredSweeps {
 public:
  explicit StoredSweeps(Database& database) : sweeps_(database), trials_(database) {}

  std::shared_ptr<const LoadedSweep> load(SweepId id);
  // Of every configuration and seed, in their order.
  std::vector<SweepTrial> trials_of(SweepId id);
  SweepReport report(SweepId id);
  // Fails where no configuration has all of its seeds yet.
  base::Expected<BestConfiguration> best(SweepId id);
  // What a job of a sweep trains with.
  std::string run_file_of(const Job& job);

 private:
  SweepStore sweeps_;
  TrialStore trials_;
  std::map<SweepId, std::shared_ptr<const LoadedSweep>> loaded_;  // of some: read again where they are not there
};

}  // namespace esper::jobs
