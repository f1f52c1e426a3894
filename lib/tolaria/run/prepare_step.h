#pragma once
// What precedes a training step, whoever runs it. Training thread.

#include <cstdint>
#include <span>

#include "step/model.h"
#include "tolaria/run/run_facts.h"

namespace esper::tolaria {

// Sets what the step reads besides the batch: the learning rate, and the attribution if it is probed. step: its place
// in the run, from 0.
void prepare_step(step::Model& model, const RunFacts& facts, std::int64_t step,
                  std::span<const step::Microbatch> microbatches);

}  // namespace esper::tolaria
