#pragma once
// The account of the training thread's time, as metrics. Training thread.

#include <vector>

#include "base/ledger/ledger.h"
#include "leyline/telemetry_packet.h"

namespace esper::tolaria {

// What every owner had of the time since the last packet that reported it. Owners without any are left out.
void add_ledger(std::vector<leyline::MetricValue>& out, base::Ledger& ledger);

// Of the steps since the last call; nothing where there were none.
void add_step_times(std::vector<leyline::MetricValue>& out, base::Ledger& ledger);

}  // namespace esper::tolaria
