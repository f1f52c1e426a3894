#include "tolaria/run/prepare_step.h"

#include "step/probe.h"

namespace esper::tolaria {

void prepare_step(step::Model& model, const RunFacts& facts, std::int64_t step,
                  std::span<const step::Microbatch> microbatches) {
  step::set_learning_rate(model.state, facts.learning_rate(step));
  step::probe_attribution(model, microbatches);
}

}  // namespace esper::tolaria
