#pragma once
// What happened to seeds and what was decided, as telemetry events and as notes in the run's journal.

#include <optional>
#include <string>
#include <vector>

#include "kasmina/network.h"
#include "leyline/command.h"
#include "step/step_state.h"
#include "tolaria/run/run.h"

namespace esper::tolaria {

// What lies behind events: a command, or nothing of this where they came with an epoch's end.
struct Cause {
  std::string decision;           // "GERMINATE: why"
  std::optional<double> took_ms;  // how long training stood still for it
};

// `change`: what became of the optimizer's moments in the meantime; told with the graft, the cull or the fold. Moves
// run.topology along, whose hash is told with each note.
void tell_lifecycle(Run& run, const std::vector<kasmina::LifecycleEvent>& happened, const step::StructureChange& change,
                    const Cause& cause = {});
// "GERMINATE: why", of a command and the decision that it is part of.
std::string cause_in_words(const leyline::AdaptationCommand& command, const leyline::Decision& decision);
void tell_decision(Run& run, const leyline::Decision& decision);

}  // namespace esper::tolaria
