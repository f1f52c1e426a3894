#pragma once
// The results of an epoch as metrics. epoch_reporter.h decides which packet they go into, and when. Training thread.

#include <vector>

#include "leyline/seed.h"
#include "leyline/telemetry/telemetry_packet.h"
#include "tamiyo/service/consultation.h"
#include "tolaria/growth/growth.h"
#include "tolaria/growth/observe.h"
#include "tolaria/run/saver.h"
#include "tolaria/safety/good_state.h"

namespace esper::tolaria {

// The run after the epoch.
struct RunView {
  const RunFacts& facts;
  const RunProgress& progress;
  const step::Model& model;
  const std::vector<leyline::SeedState>& seeds;
};

// Counters and timings of a run's components.
struct ComponentFigures {
  const tamiyo::ConsultationFigures& policy;
  const GrowthFigures& growth;
  const RollbackFigures& rollback;
  const EmergencyFigures& emergency;
  const SaveFigures& saves;
  double hook_ms = 0;  // of the epoch: measuring, deciding and applying
};

// All metrics except the ledger's, which are reported by time and not by epoch.
std::vector<leyline::MetricValue> epoch_metrics(const RunView& run, const EpochResults& results,
                                                const ComponentFigures& figures);

// Those of them that count rollbacks and emergencies of this process.
std::vector<leyline::MetricValue> safety_metrics(const RollbackFigures& rollback, const EmergencyFigures& emergency);

}  // namespace esper::tolaria
