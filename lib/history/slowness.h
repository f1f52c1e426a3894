#pragma once
// A run's ledger as a table, with what to try about the largest share that can be avoided. Pure functions.

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "config/run_config.h"
#include "history/run_ledger.h"

namespace esper::history {

struct Advice {
  std::string owner;  // whose share it is about
  std::string set;    // an assignment for --set; empty: there is nothing to switch
  std::string text;   // why, with the run's figures
};

// Follows from the run's figures and its configuration: never what is set already. Start-up does not count, as it is
// paid once; an owner below 5% of the rest is not mentioned.
Advice advise(const config::RunConfig& config, const RunLedger& ledger);

// Ten owners, idle with start-up in it; the largest first.
std::string slowness_text(const std::string& run, const RunLedger& ledger, const Advice& advice);
// {run_dir, wall_ms, percent_sum, owners [{owner, ms, percent}], start_up_ms, step {p50_us, p95_us},
//  advice {owner, set, text}, covers {processes, epochs, epochs_again, status, damaged_lines, gaps}}
nlohmann::ordered_json slowness_json(const std::string& run, const RunLedger& ledger, const Advice& advice);

}  // namespace esper::history
