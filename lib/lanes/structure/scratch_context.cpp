#include "lanes/structure/scratch_context.h"

#include <algorithm>
#include <utility>

namespace esper::lanes {
namespace {

// A scratch model's step is recorded after at least one eager step.
config::StepConfig scratch_config(config::StepConfig config) {
  config.compile.warmup_steps = std::max(1, config.compile.warmup_steps);
  return config;
}

}  // namespace

ScratchContext::ScratchContext(const LaneContext& run, LaneFailures& failures, std::unique_ptr<step::Model> scratch)
    : model(std::move(scratch)),
      config(scratch_config(run.config)),
      context{*model,       config,  run.device,  step::training_forward(model->network),
              run.services, figures, run.capture, CompiledPrograms::kAsTheyAre},
      executor(context, failures),
      machine(context, executor, ShapeMachine::Adoption::kOnAgreement) {}

}  // namespace esper::lanes
