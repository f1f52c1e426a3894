// A lane that runs a program compiled from the recording.

#include <limits>

#include "base/fault.h"
#include "lanes/lane/lane_kind.h"
#include "lanes/lane/recording.h"
#include "lanes/lane/step_external_tensors.h"
#include "lanes/lane/step_inputs.h"
#include "program/python_text.h"

namespace esper::lanes {
namespace {

using Batch = std::span<const step::Microbatch>;

// Training thread.
std::uint64_t next_bits() {
  static std::uint64_t last = 0;
  return ++last;
}

LoadedProgram load(const LaneRequest& request) {
  if (const auto* loaded = std::get_if<LoadedProgram>(&request.program.package)) return *loaded;
  const auto& [path, key, mac] = std::get<PackageFile>(request.program.package);
  auto package = std::make_shared<program::Package>(path, program::inputs_text(request.program.program),
                                                    request.model.state.device);
  return {std::move(package), key, next_bits(), mac};
}

// For a drill.
void spoil_if_armed(const step::Model& model) {
  if (!base::fault::hit("lanes.compiled_step")) return;
  const torch::NoGradGuard no_grad;
  for (const program::Tracked& written : tracked_tensors(model)) {
    if (written.tensor.is_floating_point()) written.tensor.detach().fill_(std::numeric_limits<double>::quiet_NaN());
  }
}

// The graph holds addresses of its inputs, and the package reads the inputs; so they are destroyed in this order.
struct CompiledStep {
  StepInputs inputs;
  std::shared_ptr<program::Package> package;
  std::shared_ptr<GraphedStep> graph{};  // null: it was not captured

  void run(Batch microbatches) {
    for (const StepInputs::BatchPart& part : inputs.batch) inputs.tensors[part.input] = part.of(microbatches);
    package->run(inputs.tensors);
  }
};

}  // namespace

ExpectedLane make_compiled_lane(const LaneRequest& request) {
  const auto& [program, model, example, setup] = request;
  if (std::holds_alternative<std::monostate>(program.package)) {
    return base::failure(LaneFailure{LaneFailure::Cause::kUnavailable, "there is no package of the step"});
  }
  StepInputs inputs(program.program.at(batch_size_of(example)), model, example);
  LoadedProgram loaded = load(request);
  auto step = std::make_shared<CompiledStep>(CompiledStep{std::move(inputs), loaded.package});
  if (setup.compiled == CompiledPrograms::kCaptured && setup.capture.may(setup.device)) {
    step->graph = setup.capture.capture(model, example, setup.device,
                                        [&compiled = *step](Batch microbatches) { compiled.run(microbatches); });
  }
  const auto uncaptured = [step, &model](Batch microbatches) {
    step->run(microbatches);
    spoil_if_armed(model);
  };
  if (step->graph == nullptr) return Lane(config::Lane::kCompiled, uncaptured, std::move(loaded));
  const auto captured = [step, &model](Batch microbatches) {
    step->graph->run(microbatches);
    spoil_if_armed(model);
  };
  return Lane(config::Lane::kCompiled, captured, std::move(loaded), uncaptured);
}

}  // namespace esper::lanes
