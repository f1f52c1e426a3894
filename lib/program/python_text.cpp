#include "program/python_text.h"

#include <fmt/core.h>

#include <array>
#include <cmath>

#include "base/error.h"
#include "program/ivalue.h"
#include "program/model_program.h"

namespace esper::program {
namespace {

using c10::TypeKind;

std::string dtype_name(c10::ScalarType dtype) {
  switch (dtype) {
    case c10::ScalarType::Byte:
      return "torch.uint8";
    case c10::ScalarType::Char:
      return "torch.int8";
    case c10::ScalarType::Short:
      return "torch.int16";
    case c10::ScalarType::Int:
      return "torch.int32";
    case c10::ScalarType::Long:
      return "torch.int64";
    case c10::ScalarType::Half:
      return "torch.float16";
    case c10::ScalarType::Float:
      return "torch.float32";
    case c10::ScalarType::Double:
      return "torch.float64";
    case c10::ScalarType::Bool:
      return "torch.bool";
    case c10::ScalarType::BFloat16:
      return "torch.bfloat16";
    default:
      ESPER_CHECK(false, std::string("unsupported type ") + c10::toString(dtype));
      return {};
  }
}

std::string memory_format_name(std::int64_t format) {
  constexpr std::array kNames{"torch.contiguous_format", "torch.preserve_format", "torch.channels_last",
                              "torch.channels_last_3d"};
  ESPER_CHECK(format >= 0 && format < static_cast<std::int64_t>(kNames.size()), "a memory format without a name");
  return kNames[static_cast<std::size_t>(format)];
}

std::string real(double value) {
  if (std::isnan(value)) return "float('nan')";
  if (std::isinf(value)) return value > 0 ? "float('inf')" : "float('-inf')";
  std::string result = fmt::format("{:.17g}", value);
  if (result.find_first_of(".en") == std::string::npos) result.append(".0");
  return result;
}

template <class Range, class Print>
std::string tuple(const Range& range, const Print& print) {
  std::string text = "(";
  for (const auto& item : range) text.append(print(item)).append(",");
  text.push_back(')');
  return text;
}

template <class Range, class Print>
std::string list(const Range& range, const Print& print) {
  std::string text = "[";
  for (const auto& item : range) text.append(print(item)).append(",");
  text.push_back(']');
  return text;
}

std::string whole(std::int64_t value) { return std::to_string(value); }

class Writer {
 public:
  explicit Writer(const SymbolicProgram& symbolic) : symbolic_(symbolic), program_(symbolic.program) {}

  std::string write() {
    std::string text = fmt::format("import torch\n\n{}\n\n\ndef step(", inputs());
    for (std::size_t i = 0; i < program_.inputs.size(); ++i) text.append(name(static_cast<ValueId>(i))).append(", ");
    text.append("):\n");
    if (symbolic_.is_for_all_sizes()) {
      text.append(fmt::format("    n = {}.shape[0]\n", name(static_cast<ValueId>(symbolic_.batch_inputs().front()))));
    }
    for (std::size_t i = 0; i < program_.operations.size(); ++i) text.append("    ").append(statement(i)).append("\n");
    return text.append(fmt::format("    return ({},)\n", result()));
  }

  std::string inputs() const {
    std::string text = "INPUTS = [\n";
    for (std::size_t i = 0; i < program_.inputs.size(); ++i) text.append(input(i));
    text.push_back(']');
    if (!symbolic_.is_for_all_sizes()) return text;
    const auto index = [](std::size_t i) { return std::to_string(i); };
    return text.append(fmt::format("\nSIZES = ({}, {})\nBATCH = {}", SymbolicProgram::kLeast, SymbolicProgram::kMost,
                                   list(symbolic_.batch_inputs(), index)));
  }

  std::string name(ValueId id) const {
    if (id == kNoValue) return "None";
    const bool is_input = static_cast<std::size_t>(id) < program_.inputs.size();
    return fmt::format("{}{}", is_input ? "a" : "t", id);
  }

  std::string statement(std::size_t at) const {
    const Operation& operation = program_.operations[at];
    const auto op = find_operator(operation.name);
    ESPER_CHECK(op.has_value(), "a program that was not verified");
    const auto& schema = op->schema().arguments();
    std::string arguments;
    for (std::size_t i = 0; i < schema.size(); ++i) {
      const bool left_out = std::holds_alternative<std::monostate>(operation.arguments[i]) &&
                            schema[i].default_value().has_value() && schema[i].kwarg_only();
      if (left_out) continue;
      const std::string text = argument(operation.arguments[i], schema[i], {NumberPlace::Part::kArgument, at, i, 0});
      if (text.empty()) continue;
      if (!arguments.empty()) arguments.append(", ");
      if (schema[i].kwarg_only()) arguments.append(schema[i].name()).append("=");
      arguments.append(text);
    }
    const std::string overload = op->operator_name().overload_name;
    const std::string base = op->operator_name().name.substr(std::string_view("aten::").size());
    return fmt::format("{}torch.ops.aten.{}.{}({})", results(operation, op->schema()), base,
                       overload.empty() ? "default" : overload, arguments);
  }

 private:
  std::string input(std::size_t i) const {
    const TensorType& type = program_.values[i];
    const std::string& name_in_run = program_.inputs[i].name;  // a comment, which nothing may end
    return fmt::format("    ({}, {}, {}, '{}'),  # {}\n", tuple(type.sizes, whole), tuple(type.strides, whole),
                       dtype_name(type.dtype), c10::DeviceTypeName(type.device, /*lower_case=*/true),
                       is_tensor_name(name_in_run) ? name_in_run : "");
  }

  // What the compiled step returns; its caller has no use for it, but a program without a result does not compile.
  std::string result() const {
    for (auto at = program_.operations.rbegin(); at != program_.operations.rend(); ++at) {
      for (const Argument& made : at->results) {
        const auto* tensor = std::get_if<TensorArgument>(&made);
        if (tensor == nullptr || tensor->id < static_cast<ValueId>(program_.inputs.size())) continue;
        if (program_.values[static_cast<std::size_t>(tensor->id)].sizes.empty()) return name(tensor->id);
      }
    }
    return "torch.ops.aten.full.default([], 0.0)";
  }

  // "t7, _ = ": a return that is an argument written in place keeps its name.
  std::string results(const Operation& operation, const c10::FunctionSchema& schema) const {
    std::string text;
    for (std::size_t i = 0; i < operation.results.size(); ++i) {
      const auto* tensor = std::get_if<TensorArgument>(&operation.results[i]);
      const auto* tensors = std::get_if<TensorListArgument>(&operation.results[i]);
      const bool written = is_written(schema.returns()[i]);
      if (!text.empty()) text.append(", ");
      if (!written && tensors != nullptr) {
        text.append(tuple(tensors->ids, [this](ValueId id) { return name(id); }));
      } else {
        const bool named = !written && tensor != nullptr && tensor->id != kNoValue;
        text.append(named ? name(tensor->id) : "_");
      }
    }
    return text.empty() ? text : text.append(" = ");
  }

  std::string argument(const Argument& argument, const c10::Argument& schema, const NumberPlace& place) const {
    const c10::Type* type = schema.real_type().get();
    if (const auto* optional = type->castRaw<c10::OptionalType>()) type = optional->getElementType().get();
    if (const auto* value = std::get_if<std::int64_t>(&argument)) {
      if (type->kind() == TypeKind::ScalarTypeType) return dtype_name(static_cast<c10::ScalarType>(*value));
      if (type->kind() == TypeKind::MemoryFormatType) return memory_format_name(*value);
      if (type->kind() == TypeKind::LayoutType) return "torch.strided";
      return number(*value, place);
    }
    if (const auto* numbers = std::get_if<std::vector<std::int64_t>>(&argument)) {
      // C++ takes one number for int[2]; the lowerings want both.
      const bool spread = schema.N() && numbers->size() == 1 && *schema.N() > 1;
      if (spread) {
        return list(std::vector<std::string>(static_cast<std::size_t>(*schema.N()), number(numbers->front(), place)),
                    [](const std::string& text) { return text; });
      }
      return listed(*numbers, place);
    }
    return plain(argument, place);
  }

  std::string plain(const Argument& argument, const NumberPlace& place) const {
    const auto truth = [](bool value) { return std::string(value ? "True" : "False"); };
    if (const auto* tensor = std::get_if<TensorArgument>(&argument)) return name(tensor->id);
    if (const auto* tensors = std::get_if<TensorListArgument>(&argument)) {
      return list(tensors->ids, [this](ValueId id) { return name(id); });
    }
    if (const auto* value = std::get_if<bool>(&argument)) return truth(*value);
    if (const auto* value = std::get_if<double>(&argument)) return number(*value, place);
    if (const auto* values = std::get_if<std::vector<double>>(&argument)) return listed(*values, place);
    if (const auto* values = std::get_if<std::vector<bool>>(&argument)) return list(*values, truth);
    if (const auto* text = std::get_if<std::string>(&argument)) return quoted(*text);
    if (const auto* device = std::get_if<DeviceArgument>(&argument)) {
      return quoted(c10::DeviceTypeName(c10::Device(device->name).type(), /*lower_case=*/true));
    }
    return "None";
  }

  static std::string literal(std::int64_t value) { return whole(value); }
  static std::string literal(double value) { return real(value); }

  // The number, or what it is for n samples.
  template <class Value>
  std::string number(Value value, const NumberPlace& place) const {
    const auto found = symbolic_.expressions.find(place);
    if (found == symbolic_.expressions.end()) return literal(value);
    const auto& [form, factor, offset] = found->second;
    const std::string line = fmt::format("({} * n + {})", factor, offset);
    if (form == SizeExpression::Form::kReciprocal) return fmt::format("(1.0 / {})", line);
    return std::is_same_v<Value, double> ? fmt::format("(1.0 * {})", line) : line;
  }

  template <class Value>
  std::string listed(const std::vector<Value>& values, NumberPlace place) const {
    return list(values, [&](Value value) {
      std::string text = number(value, place);
      ++place.element;
      return text;
    });
  }

  static std::string quoted(const std::string& text) {
    std::string result = "'";
    for (const char c : text) {
      if (c == '\'' || c == '\\') result.push_back('\\');
      result.push_back(c);
    }
    result.push_back('\'');
    return result;
  }

  const SymbolicProgram& symbolic_;
  const Program& program_;
};

}  // namespace

std::string python_text(const SymbolicProgram& program) { return Writer(program).write(); }

std::vector<std::string> operation_statements(const SymbolicProgram& program) {
  const Writer writer(program);
  std::vector<std::string> statements;
  for (std::size_t i = 0; i < program.program.operations.size(); ++i) statements.push_back(writer.statement(i));
  return statements;
}

std::string value_name(const SymbolicProgram& program, ValueId id) { return Writer(program).name(id); }

std::string inputs_text(const SymbolicProgram& program) { return Writer(program).inputs(); }

}  // namespace esper::program
