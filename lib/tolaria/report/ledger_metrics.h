#pragma once
// The ledger of the training thread's time, as metrics. Training thread.

#include <vector>

#include "base/ledger/ledger.h"
#include "leyline/telemetry/telemetry_packet.h"

namespace esper::tolaria {

// Each owner's share of the time since the last packet that included it. Owners with none are omitted.
void add_ledger(std::vector<leyline::MetricValue>& out, base::Ledger& ledger);

// Of the steps since the last call; empty if there were none.
void add_step_times(std::vector<leyline::MetricValue>& out, base::Ledger& ledger);

}  // namespace esper::tolaria
