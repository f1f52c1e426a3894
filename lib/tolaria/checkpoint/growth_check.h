#pragma once
// The network of a checkpoint against the one that the run's journal rebuilds.

#include <string>

#include "history/growth_history.h"
#include "tolaria/checkpoint/checkpoint.h"

namespace esper::tolaria {

// Throws Error{kCheckpoint} that says what differs. Returns why the journal does not show it; empty where both agree.
std::string check_growth(const history::GrowthHistory& history, const CheckpointImage& image);

// The journal's note of a process that begins ("started") or goes on ("resumed") with this network.
std::string start_record(const std::string& what, const CheckpointInfo& at, const leyline::Topology& topology);

}  // namespace esper::tolaria
