#pragma once
// When a run's checkpoints are due, by `checkpoint.every`. Pure functions.

#include "kasmina/network.h"
#include "tolaria/state/run_facts.h"

namespace esper::tolaria {

// With the step that was just trained.
bool is_save_due_after_step(const RunFacts& facts, const RunProgress& progress);
// With the epoch that was just counted. Where checkpoints count steps, with each that leaves growing seeds: they may
// make the next one bad, and a process that begins within that one goes back to here.
bool is_save_due_after_epoch(const RunFacts& facts, const RunProgress& progress, const kasmina::Network& network);

}  // namespace esper::tolaria
