#pragma once
// What to try about the largest share of a run's time that can be avoided. A pure function.

#include <cstdint>
#include <string>

#include "config/run_config.h"
#include "history/ledger/run_ledger.h"

namespace esper::history {

struct Advice {
  std::string owner;  // whose share it is about
  std::string set;    // an assignment for --set; empty: there is nothing to switch
  std::string text;   // why, with the run's figures
};

// Follows from the run's figures and its configuration: never what is set already. Start-up does not count, as it is
// paid once; an owner below 5% of the rest is not mentioned. cores: that the reader's machine has, which is taken for
// the run's.
Advice advise(const config::RunConfig& config, const RunLedger& ledger, std::int64_t cores);

}  // namespace esper::history
