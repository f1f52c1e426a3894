#pragma once
// Telemetry of an epoch: one Tolaria packet, and one packet for each seed. Training thread.

#include <cstdint>

#include "tolaria/report/epoch_metrics.h"
#include "tolaria/run/outbox.h"

namespace esper::tolaria {

class EpochReporter {
 public:
  // Borrows all of it.
  EpochReporter(const RunFacts& facts, const RunProgress& progress, const step::Model& model, Outbox& outbox,
                base::Ledger& ledger)
      : facts_(facts), progress_(progress), model_(model), outbox_(outbox), ledger_(ledger) {}
  EpochReporter(const EpochReporter&) = delete;
  EpochReporter& operator=(const EpochReporter&) = delete;

  // After the epoch was counted. Takes the waiting events along, and the ledger since the last packet that had it, once
  // that is a millisecond.
  void report(const EpochResults& results, const ComponentFigures& figures);

 private:
  void report_seed(const step::StepMetrics& metrics, const leyline::SeedState& seed);

  const RunFacts& facts_;
  const RunProgress& progress_;
  const step::Model& model_;
  Outbox& outbox_;
  base::Ledger& ledger_;
  std::int64_t skipped_steps_ = 0;  // of this process, for a gradient not finite
};

}  // namespace esper::tolaria
