#pragma once
// How often a network decides as its teacher did, beside what is got for nothing. Training thread.

#include <map>
#include <span>
#include <string>

#include "simic/imitation/lesson.h"
#include "tamiyo/network/weights.h"

namespace esper::simic {

// Shares of 0..1; those of nothing are not there. Of the decisions at which a germination was possible:
//
// - decisions, germinations: how many, and how many of these the teacher germinated at
// - accuracy: of germinate or wait; baseline_accuracy: of always the more frequent of the two
// - germinations_met, waits_met: shares of the germinations and of the others that are met; balanced_accuracy: their
//   mean, 0.5 for a constant answer
// - slot_agreement: of the germinations; slot_baseline: of drawing one
// - blueprint_agreement: of the germinations, at the teacher's slot; blueprint_baseline: of the most frequent one
// - first_epochs_apart: mean distance in epochs between a run's first germination and the first that the network would
//   have made; a network that makes none is as late as the run's last decision
//
// culls: at how many decisions it would cull a seed. loss: imitation_loss() with balanced weights, over all decisions.
std::map<std::string, double> agreement(const tamiyo::Weights& weights, std::span<const Lesson* const> lessons);

}  // namespace esper::simic
