#pragma once
// Compares the network of a checkpoint with the one that the run's journal describes.

#include <string>

#include "base/expected.h"
#include "history/growth/growth_history.h"
#include "tolaria/checkpoint/checkpoint.h"

namespace esper::tolaria {

// Throws Error{kCheckpoint} that says what differs. Fails with the reason where the journal does not show it.
base::Expected<void> check_growth(const history::GrowthHistory& history, const CheckpointImage& image);

// The journal record of a process that begins ("started") or resumes ("resumed") with this network.
std::string start_record(const std::string& what, const CheckpointInfo& at, const leyline::Topology& topology);

}  // namespace esper::tolaria
