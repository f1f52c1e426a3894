#pragma once
// Seed events as records of the run's journal. Any thread.

#include "history/growth/growth_record.h"
#include "kasmina/slot/lifecycle_event.h"

namespace esper::kasmina {

// "stage", "gate", "graft", "cull", "fold", "command_rejected"
const char* label_of(LifecycleEvent::Kind kind);

// The caller adds the place in the run, the topology's hash and the decision.
history::GrowthRecord record_of(const LifecycleEvent& event);

}  // namespace esper::kasmina
