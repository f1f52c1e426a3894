#pragma once
// A run's ledger as a table, with what to try. Pure functions.

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "history/ledger/advice.h"
#include "history/ledger/run_ledger.h"

namespace esper::history {

// Ten owners, idle with start-up in it; the largest first.
std::string slowness_text(const std::string& run, const RunLedger& ledger, const Advice& advice);
// {run_dir, wall_ms, percent_sum, owners [{owner, ms, percent}], start_up_ms, step {p50_us, p95_us},
//  skipped_steps, steps (of the run; null where not known),
//  advice {owner, set, text}, covers {processes, epochs, epochs_again, status, damaged_lines, gaps}}
nlohmann::ordered_json slowness_json(const std::string& run, const RunLedger& ledger, const Advice& advice);

}  // namespace esper::history
