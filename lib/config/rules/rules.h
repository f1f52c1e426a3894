#pragma once
// The rules of a run file that more than one section has a part in.

#include "config/run_config.h"

namespace esper::config {

// The slots, blueprints and classes that the run file names: whether host, catalogue and data have them, as far as the
// run file alone shows. Malformed values are reported elsewhere.
void check_names(const RunConfig& config, Findings& out);

// The lines of policy.schedule: that the run has the epoch, and that nothing else of the run file is against it.
// Malformed lines are reported elsewhere.
void check_schedule(const RunConfig& config, Findings& out);

// That the loss, the metrics and the data fit the task.
void check_task(const RunConfig& config, Findings& out);

// That growth.control.budget holds an epoch, where seeds are judged by a control: without one none germinates.
void check_control_budget(const RunConfig& config, Findings& out);
// What growth.kind deepen needs: blocks that can be copied, a time within the run, and settings that make the network
// deeper.
void check_deepening(const RunConfig& config, Findings& out);

}  // namespace esper::config
