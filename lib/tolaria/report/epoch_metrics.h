#pragma once
// What an epoch came to, as metrics. Which packet they go into, and when: epoch_reporter.h. Training thread.

#include <cstdint>
#include <vector>

#include "leyline/seed.h"
#include "leyline/telemetry_packet.h"
#include "tolaria/growth/good_state.h"
#include "tolaria/growth/growth.h"
#include "tolaria/growth/observe.h"
#include "tolaria/run/consultation.h"
#include "tolaria/run/saver.h"

namespace esper::tolaria {

// The run after the epoch.
struct RunView {
  const RunFacts& facts;
  const RunProgress& progress;
  const step::Model& model;
  const std::vector<leyline::SeedState>& seeds;
  std::int64_t skipped_steps = 0;  // of this process, for a gradient not finite
};

// What the components of a run counted and timed.
struct ComponentFigures {
  const ConsultationFigures& policy;
  const GrowthFigures& growth;
  const RollbackFigures& rollback;
  const SaveFigures& saves;
  double hook_ms = 0;  // of the epoch: measuring, deciding and applying
};

// All but the ledger's, which are reported by time and not by epoch.
std::vector<leyline::MetricValue> epoch_metrics(const RunView& run, const EpochResults& results,
                                                const ComponentFigures& figures);

// What is known of one seed; each with seed_id, slot, blueprint and stage.
std::vector<leyline::MetricValue> seed_metrics(const leyline::SeedState& seed);

}  // namespace esper::tolaria
