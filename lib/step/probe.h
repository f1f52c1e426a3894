#pragma once
// Attribution by measurement: what each microbatch's loss loses when a seed is taken out. Training thread.

#include <span>

#include "step/model.h"
#include "step/train_step.h"

namespace esper::step {

// Where growth.aggregation.attribution is probe and surgery will act: writes AggregationState::probed for the step of
// these microbatches, from one evaluation forward of the network as it is and one for each growing seed at alpha 0.
// In place: recorded steps read it where it is. Reads nothing from the device. Else it does nothing. Call it before the
// step, of at most AggregationSettings::microbatches; a step that was not probed goes by what was there, evenly where
// nothing was probed since the network changed.
void probe_attribution(Model& model, std::span<const Microbatch> microbatches);

}  // namespace esper::step
