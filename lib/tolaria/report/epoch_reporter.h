#pragma once
// Telemetry of an epoch: one Tolaria packet, and one packet per seed, also of those that its end removed. Training
// thread.

#include <cstdint>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "tolaria/report/epoch_metrics.h"
#include "tolaria/run/outbox.h"

namespace esper::tolaria {

class EpochReporter {
 public:
  // Borrows its arguments.
  EpochReporter(const RunFacts& facts, const RunProgress& progress, const step::Model& model, Outbox& outbox,
                base::Ledger& ledger)
      : facts_(facts), progress_(progress), model_(model), outbox_(outbox), ledger_(ledger) {}
  EpochReporter(const EpochReporter&) = delete;
  EpochReporter& operator=(const EpochReporter&) = delete;

  // Call after the epoch was counted. Includes the pending events, and the ledger's time since it was last included, if
  // that is at least a millisecond.
  void report(const EpochResults& results, const ComponentFigures& figures);
  // Where a signal ends the run: warns of what the end of an epoch would warn of. uncounted: the steps of an epoch that
  // was not reported, so far.
  void warn_at_signal(const step::StepMetrics& uncounted);
  // At the end of run_epochs(): rollbacks and emergencies since the last report, with the pending events; nothing if
  // there were none.
  void report_safety(const RollbackFigures& rollback, const EmergencyFigures& emergency);

 private:
  // At most once of the skips, and of each scale.
  void warn_of_skips(std::optional<leyline::TelemetryEvent> warning);
  void warn_of_low_scales(std::uint32_t epoch, const step::StepMetrics& steps);
  void report_seeds(const EpochResults& results, std::span<const leyline::SeedState> seeds,
                    std::span<const leyline::SeedState> ended);
  void send_seed(const std::string& seed_id, std::vector<leyline::MetricValue> metrics);

  const RunFacts& facts_;
  const RunProgress& progress_;
  const step::Model& model_;
  Outbox& outbox_;
  base::Ledger& ledger_;
  RollbackFigures rollback_;    // as last reported
  EmergencyFigures emergency_;  // likewise
  bool has_warned_of_skips_ = false;
  std::set<std::string> low_scales_;  // that were warned of: the network's as "", those of seeds by id
};

}  // namespace esper::tolaria
