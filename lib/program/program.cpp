#include "program/program.h"

#include <cstdio>

#include "program/joined.h"

namespace esper::program {
namespace {

template <class Range, class Print>
std::string listed(const Range& range, const Print& print) {
  std::string text = "[";
  for (const auto& item : range) {
    if (text.size() > 1) text.append(", ");
    text.append(print(item));
  }
  text.push_back(']');
  return text;
}

std::string number(double value) {
  char text[32];
  std::snprintf(text, sizeof text, "%.17g", value);
  return text;
}

struct PrintArgument {
  static std::string value(ValueId id) { return id == kNoValue ? "none" : joined({"%", std::to_string(id)}); }
  std::string operator()(std::monostate) const { return "none"; }
  std::string operator()(const TensorArgument& argument) const { return value(argument.id); }
  std::string operator()(const TensorListArgument& argument) const { return listed(argument.ids, value); }
  std::string operator()(bool argument) const { return argument ? "true" : "false"; }
  std::string operator()(std::int64_t argument) const { return std::to_string(argument); }
  std::string operator()(double argument) const { return number(argument); }
  std::string operator()(const std::vector<std::int64_t>& argument) const {
    return listed(argument, [](std::int64_t item) { return std::to_string(item); });
  }
  std::string operator()(const std::vector<double>& argument) const { return listed(argument, number); }
  std::string operator()(const std::vector<bool>& argument) const {
    return listed(argument, [](bool item) { return std::string(item ? "true" : "false"); });
  }
  std::string operator()(const std::string& argument) const { return joined({"\"", argument, "\""}); }
  std::string operator()(const DeviceArgument& argument) const { return argument.name; }
};

std::string print(const Argument& argument) { return std::visit(PrintArgument{}, argument); }

std::string print(const TensorType& type) {
  const std::string place = type.device == c10::DeviceType::CPU ? "" : c10::DeviceTypeName(type.device, true);
  return joined({c10::toString(type.dtype), PrintArgument{}(type.sizes), place.empty() ? "" : "@", place});
}

std::string printed(const std::vector<Argument>& arguments) {
  std::string text;
  for (const Argument& argument : arguments) {
    if (!text.empty()) text.append(", ");
    text.append(print(argument));
  }
  return text;
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
    text += joined({"%", std::to_string(i), input.access == Access::kWritten ? " inout " : " in ",
                    print(program.values[i]), " ", input.name, "\n"});
  }
  for (const Operation& operation : program.operations) {
    text += joined({printed(operation.results), " = ", operation.name, "(", printed(operation.arguments), ")\n"});
  }
  return text;
}

}  // namespace esper::program
