#pragma once
// The events of commands that are executed, and of those that a gate rejects. Any thread.

#include <string>
#include <vector>

#include "kasmina/slot/gates.h"
#include "kasmina/slot/lifecycle_event.h"
#include "kasmina/slot/slot.h"
#include "leyline/command.h"

namespace esper::kasmina {

// An event of the slot and of its seed, if it has one, as they are now.
LifecycleEvent event_of(LifecycleEvent::Kind kind, const Slot& slot, const leyline::AdaptationCommand& command);
// A gate's verdict on the move to a stage.
LifecycleEvent verdict_event(const Verdict& verdict, const Slot& slot, leyline::Stage to,
                             const leyline::AdaptationCommand& command);
// A move that was made.
LifecycleEvent stage_event(const Slot& slot, leyline::Stage from, const std::string& reason,
                           const leyline::AdaptationCommand& command);
// All events of a command that a gate rejected. verdict: the gate's event.
std::vector<LifecycleEvent> gate_refusal(const LifecycleEvent& verdict, const leyline::AdaptationCommand& command);

// Why its sender issued it; "command" if it does not say.
std::string reason_of(const leyline::AdaptationCommand& command);

}  // namespace esper::kasmina
