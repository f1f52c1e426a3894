#pragma once
// What happens to seeds, in the words of the run's journal. Any thread.

#include "kasmina/network.h"
#include "leyline/growth_note.h"

namespace esper::kasmina {

// "stage", "gate", "graft", "cull", "fold", "command_rejected"
const char* word_of(LifecycleEvent::Kind kind);

// Its place in the run, the topology's hash and what was decided are the caller's to add.
leyline::GrowthNote note_of(const LifecycleEvent& event);

}  // namespace esper::kasmina
