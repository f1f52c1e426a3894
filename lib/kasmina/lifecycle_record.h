#pragma once
// What happens to seeds, in the words of the run's journal. Any thread.

#include "history/growth_record.h"
#include "kasmina/network.h"

namespace esper::kasmina {

// "stage", "gate", "graft", "cull", "fold", "command_rejected"
const char* label_of(LifecycleEvent::Kind kind);

// Its place in the run, the topology's hash and what was decided are the caller's to add.
history::GrowthRecord record_of(const LifecycleEvent& event);

}  // namespace esper::kasmina
