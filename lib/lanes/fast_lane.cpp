#include "lanes/fast_lane.h"

#include <unordered_map>

#include "base/error.h"
#include "lanes/step_sizes.h"
#include "program/python_text.h"

namespace esper::lanes {

using step::Microbatch;
using step::Model;

namespace {

// Training thread.
std::uint64_t next_bits() {
  static std::uint64_t last = 0;
  return ++last;
}

const torch::Tensor& part_of(const Microbatch& microbatch, StepInputs::BatchPart::Half half) {
  return half == StepInputs::BatchPart::Half::kInputs ? microbatch.inputs : microbatch.targets;
}

}  // namespace

StepInputs::StepInputs(const program::Program& program, const Model& model, std::span<const Microbatch> microbatches) {
  using Half = BatchPart::Half;
  std::unordered_map<std::string, torch::Tensor> by_name;
  for (const program::Root& root : step_roots(model, microbatches)) by_name.emplace(root.name, root.tensor.detach());
  std::unordered_map<std::string, std::pair<std::size_t, Half>> parts;
  for (std::size_t i = 0; i < microbatches.size(); ++i) {
    const std::string prefix = "batch." + std::to_string(i);
    parts[prefix + ".inputs"] = {i, Half::kInputs};
    parts[prefix + ".targets"] = {i, Half::kTargets};
  }
  for (std::size_t i = 0; i < program.inputs.size(); ++i) {
    const std::string& name = program.inputs[i].name;
    const auto found = by_name.find(name);
    ESPER_CHECK(found != by_name.end(), "the program asks for " + name + ", which the step does not have");
    const program::TensorType& type = program.values[i];
    ESPER_CHECK(found->second.sizes() == type.sizes && found->second.strides() == type.strides &&
                    found->second.scalar_type() == type.dtype,
                name + " is not what the program was recorded with");
    tensors.push_back(found->second);
    if (const auto part = parts.find(name); part != parts.end()) {
      batch.push_back({i, part->second.first, part->second.second});
    }
  }
}

FastLane FastLane::replay(const program::Program& program, const Model& model, std::span<const Microbatch> example) {
  FastLane lane(StepInputs(program, model, example));
  std::vector<std::size_t> moving;
  for (const StepInputs::BatchPart& part : lane.inputs_.batch) moving.push_back(part.input);
  lane.replay_ = std::make_unique<program::Replay>(program, lane.inputs_.tensors, moving);
  return lane;
}

FastLane FastLane::compiled(const program::SymbolicProgram& program, const Model& model,
                            std::span<const Microbatch> example, const std::string& package_path,
                            const std::string& key) {
  FastLane lane(StepInputs(program.at(batch_size_of(example)), model, example));
  lane.package_ = std::make_shared<program::Package>(package_path, program::inputs_text(program), model.state.device);
  lane.key_ = key;
  lane.bits_ = next_bits();
  return lane;
}

FastLane FastLane::bound(const LoadedProgram& loaded, const program::Program& program, const Model& model,
                         std::span<const Microbatch> example) {
  FastLane lane(StepInputs(program, model, example));
  lane.package_ = loaded.package;
  lane.key_ = loaded.key;
  lane.bits_ = loaded.bits;
  return lane;
}

// The program works on the buffers while it is captured, and the graph remembers them; nothing of it refers to this
// object, which may be moved.
void FastLane::capture(const Model& model, std::span<const Microbatch> example, torch::Device device, int warm_ups,
                       std::shared_ptr<GraphFigures> figures) {
  const auto step = [this](std::span<const Microbatch> microbatches) { run_directly(microbatches); };
  graph_ = std::make_unique<GraphedStep>(model, example, device, warm_ups, step, std::move(figures));
}

void FastLane::run_directly(std::span<const Microbatch> microbatches) {
  for (const StepInputs::BatchPart& part : inputs_.batch) {
    const torch::Tensor& tensor = part_of(microbatches[part.microbatch], part.half);
    if (replay_) {
      replay_->rebind(part.input, tensor);
    } else {
      inputs_.tensors[part.input] = tensor;
    }
  }
  if (replay_) {
    replay_->run();
  } else {
    package_->run(inputs_.tensors);
  }
}

}  // namespace esper::lanes
