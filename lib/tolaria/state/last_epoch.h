#pragma once
// Whether a run comes to its end: after its epochs, or earlier where validation no longer improves
// (training.early_stop_epochs). Training thread.

#include "config/run_config.h"
#include "tolaria/state/run_progress.h"

namespace esper::tolaria {

bool is_last_epoch_over(const config::RunConfig& config, const RunProgress& progress);

// Validation no longer improves.
bool should_stop_early(const config::RunConfig& config, const RunProgress& progress);

// Whether the run ends with the epoch that is not counted yet; known once that was recorded.
bool is_last_epoch(const config::RunConfig& config, const RunProgress& progress);

// The same before it was recorded.
bool may_be_last_epoch(const config::RunConfig& config, const RunProgress& progress);

}  // namespace esper::tolaria
