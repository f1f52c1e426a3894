#include "program/program.h"

#include <fmt/core.h>

#include <functional>

#include "base/text/joined.h"

namespace esper::program {

using base::joined;

namespace {

template <class Range, class Print = std::identity>
std::string listed(const Range& range, const Print& print = {}) {
  return fmt::format("[{}]", joined(range, ", ", print));
}

std::string number(double value) { return fmt::format("{:.17g}", value); }

struct PrintArgument {
  static std::string value(ValueId id) { return id == kNoValue ? "none" : fmt::format("%{}", id); }
  std::string operator()(std::monostate) const { return "none"; }
  std::string operator()(const TensorArgument& argument) const { return value(argument.id); }
  std::string operator()(const TensorListArgument& argument) const { return listed(argument.ids, value); }
  std::string operator()(bool argument) const { return argument ? "true" : "false"; }
  std::string operator()(std::int64_t argument) const { return std::to_string(argument); }
  std::string operator()(double argument) const { return number(argument); }
  std::string operator()(const std::vector<std::int64_t>& argument) const { return listed(argument); }
  std::string operator()(const std::vector<double>& argument) const { return listed(argument, number); }
  std::string operator()(const std::vector<bool>& argument) const {
    return listed(argument, [](bool item) { return std::string(item ? "true" : "false"); });
  }
  std::string operator()(const std::string& argument) const { return fmt::format("\"{}\"", argument); }
  std::string operator()(const DeviceArgument& argument) const { return argument.name; }
};

std::string print(const Argument& argument) { return std::visit(PrintArgument{}, argument); }

std::string print(const TensorType& type) {
  const std::string place = type.device == c10::DeviceType::CPU ? "" : c10::DeviceTypeName(type.device, true);
  return fmt::format("{}{}{}{}", c10::toString(type.dtype), listed(type.sizes), place.empty() ? "" : "@", place);
}

std::string printed(const std::vector<Argument>& arguments) {
  return joined(arguments, ", ", [](const Argument& argument) { return print(argument); });
}

}  // namespace

std::vector<ValueId> ids_of(const Argument& argument) {
  if (const auto* one = std::get_if<TensorArgument>(&argument)) return {one->id};
  if (const auto* many = std::get_if<TensorListArgument>(&argument)) return many->ids;
  return {};
}

std::string to_text(const Program& program) {
  std::string text;
  for (std::size_t i = 0; i < program.inputs.size(); ++i) {
    const Input& input = program.inputs[i];
    text += fmt::format("%{} {} {} {}\n", i, input.access == Access::kWritten ? "inout" : "in",
                        print(program.values[i]), input.name);
  }
  for (const Operation& operation : program.operations) {
    text += fmt::format("{} = {}({})\n", printed(operation.results), operation.name, printed(operation.arguments));
  }
  return text;
}

}  // namespace esper::program
