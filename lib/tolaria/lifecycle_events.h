#pragma once
// What happened to seeds and what was decided, as telemetry events and as notes in the run's journal.

#include <vector>

#include "kasmina/network.h"
#include "leyline/command.h"
#include "tolaria/run.h"
#include "tolaria/step_state.h"

namespace esper::tolaria {

// `change`: what became of the optimizer's moments in the meantime; told with the graft or the cull.
void tell_lifecycle(Run& run, const std::vector<kasmina::LifecycleEvent>& happened, const StructureChange& change);
void tell_decision(Run& run, const leyline::Decision& decision);

}  // namespace esper::tolaria
