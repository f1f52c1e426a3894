#include "lanes/lane/step_inputs.h"

#include <fmt/core.h>

#include <string>
#include <unordered_map>

#include "base/error.h"
#include "lanes/lane/step_external_tensors.h"

namespace esper::lanes {

StepInputs::StepInputs(const program::Program& program, const step::Model& model,
                       std::span<const step::Microbatch> microbatches) {
  using Half = BatchPart::Half;
  std::unordered_map<std::string, torch::Tensor> by_name;
  for (const program::ExternalTensor& external : step_external_tensors(model, microbatches))
    by_name.emplace(external.name, external.tensor.detach());
  std::unordered_map<std::string, std::pair<std::size_t, Half>> parts;
  for (std::size_t i = 0; i < microbatches.size(); ++i) {
    parts[fmt::format("batch.{}.inputs", i)] = {i, Half::kInputs};
    parts[fmt::format("batch.{}.targets", i)] = {i, Half::kTargets};
  }
  for (std::size_t i = 0; i < program.inputs.size(); ++i) {
    const std::string& name = program.inputs[i].name;
    const auto found = by_name.find(name);
    ESPER_CHECK(found != by_name.end(), "the program needs " + name + ", which the step does not have");
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

}  // namespace esper::lanes
