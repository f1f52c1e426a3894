#include "program/norm_momentum.h"

#include <variant>

namespace esper::program {
namespace {

// One that the model keeps in evaluation mode while it trains moves nothing.
bool moves_statistics(const Operation& operation) {
  const bool is_norm = operation.name == "aten::batch_norm" || operation.name == "aten::instance_norm";
  return is_norm && operation.arguments.at(kNormTraining) == Argument(true);
}

// Of a tensor that is one of the program's inputs, its name; else empty.
std::string input_name(const Program& program, const Argument& argument) {
  const auto* tensor = std::get_if<TensorArgument>(&argument);
  if (tensor == nullptr || tensor->id < 0) return {};
  const auto id = static_cast<std::size_t>(tensor->id);
  return id < program.inputs.size() ? program.inputs[id].name : std::string();
}

}  // namespace

std::map<std::string, double> norm_momenta(const ModelProgram& model) {
  const Program& program = model.body.program;
  std::map<std::string, double> momenta;
  for (const Operation& operation : program.operations) {
    if (!moves_statistics(operation)) continue;
    const auto* momentum = std::get_if<double>(&operation.arguments.at(kNormMomentum));
    if (momentum == nullptr) continue;
    for (const std::size_t statistic : {kNormMean, kNormVariance}) {
      const std::string name = input_name(program, operation.arguments.at(statistic));
      if (!name.empty()) momenta[name] = *momentum;
    }
  }
  return momenta;
}

}  // namespace esper::program
