#include "program/model_program.h"

#include <fmt/core.h>

#include <algorithm>
#include <bit>
#include <nlohmann/json.hpp>

#include "base/text/ascii.h"
#include "base/text/json_fields.h"
#include "program/ivalue.h"
#include "program/value_storage.h"

namespace esper::program {
namespace {

using nlohmann::json;
using Part = NumberPlace::Part;

constexpr int kModelVersion = 1;
constexpr std::size_t kMostValues = 1'000'000;

// What is wrong with the text; it goes no further than this file.
struct Malformed : std::runtime_error {
  using std::runtime_error::runtime_error;
};

void require(bool holds, const std::string& otherwise) {
  if (!holds) throw Malformed(otherwise);
}

double real_of(const json& bits) { return std::bit_cast<double>(base::whole_of<std::uint64_t>(bits)); }

Argument read_argument(const json& written) {
  const auto kind = written.at(0).get<std::string>();
  if (kind == "none") return std::monostate{};
  const json& value = written.at(1);
  if (kind == "tensor") return TensorArgument{base::whole_of<ValueId>(value)};
  if (kind == "tensors") return TensorListArgument{base::wholes_of<ValueId>(value)};
  if (kind == "bool") return value.get<bool>();
  if (kind == "int") return base::whole_of<std::int64_t>(value);
  if (kind == "real") return real_of(value);
  if (kind == "ints") return base::wholes_of<std::int64_t>(value);
  if (kind == "bools") return value.get<std::vector<bool>>();
  if (kind == "text") return value.get<std::string>();
  if (kind == "device") return DeviceArgument{value.get<std::string>()};
  require(kind == "reals", "an argument of kind " + kind);
  std::vector<double> reals;
  for (const json& item : value) reals.push_back(real_of(item));
  return reals;
}

std::vector<Argument> read_arguments(const json& written) {
  std::vector<Argument> arguments;
  for (const json& argument : written) arguments.push_back(read_argument(argument));
  return arguments;
}

TensorType read_type(const json& written) {
  TensorType type;
  const auto dtype = base::whole_of<int>(written.at(0));
  require(dtype >= 0 && dtype < static_cast<int>(c10::ScalarType::NumOptions), "a value of an unknown type");
  type.dtype = static_cast<c10::ScalarType>(dtype);
  type.sizes = base::wholes_of<std::int64_t>(written.at(2));
  type.strides = base::wholes_of<std::int64_t>(written.at(3));
  return type;
}

// The numbers at a place, of which there are so many.
std::size_t numbers_at(const Program& program, const NumberPlace& place) {
  if (place.part == Part::kSize && place.at < program.values.size()) return program.values[place.at].sizes.size();
  if (place.part == Part::kStride && place.at < program.values.size()) return program.values[place.at].strides.size();
  if (place.part != Part::kArgument || place.at >= program.operations.size()) return 0;
  const auto& arguments = program.operations[place.at].arguments;
  if (place.argument >= arguments.size()) return 0;
  if (std::holds_alternative<std::int64_t>(arguments[place.argument])) return 1;
  const auto* list = std::get_if<std::vector<std::int64_t>>(&arguments[place.argument]);
  return list == nullptr ? 0 : list->size();
}

void read_expression(const json& written, SymbolicProgram& program) {
  const auto numbers = base::wholes_of<std::int64_t>(written);
  constexpr std::size_t kNumbers = 6;
  require(numbers.size() == kNumbers && numbers[0] >= 1 && numbers[0] <= 3, "a size expression of another form");
  require(std::ranges::all_of(numbers.begin() + 1, numbers.begin() + 4, [](auto n) { return n >= 0; }),
          "a size expression at no place");
  const NumberPlace place{static_cast<Part>(numbers[0]), static_cast<std::size_t>(numbers[1]),
                          static_cast<std::size_t>(numbers[2]), static_cast<std::size_t>(numbers[3])};
  require(place.element < numbers_at(program.program, place), "a size expression at no place");
  program.expressions[place] = {SizeExpression::Form::kWhole, numbers[4], numbers[5]};
}

ModelProgram read(const json& document) {
  require(base::whole_at<int>(document, "version") == kModelVersion, "it is of another version");
  ModelProgram model;
  Program& program = model.body.program;
  for (const json& input : document.at("inputs")) {
    program.inputs.push_back({input.at(0).get<std::string>()});
    require(is_tensor_name(program.inputs.back().name),
            "an input's name has other characters than letters, digits and _.-");
  }
  for (const json& type : document.at("values")) program.values.push_back(read_type(type));
  require(program.values.size() <= kMostValues, "it has too many values");
  for (const json& operation : document.at("operations")) {
    program.operations.push_back(
        {operation.at(0).get<std::string>(), read_arguments(operation.at(1)), read_arguments(operation.at(2))});
  }
  for (const json& expression : document.at("expressions")) read_expression(expression, model.body);
  model.output = base::whole_at<ValueId>(document, "output");
  const auto batch = std::ranges::count(program.inputs, kModelInput, &Input::name);
  require(batch == 1, fmt::format("it has {} inputs named {}", batch, kModelInput));
  return model;
}

// Texts that operators take as a choice ("mean", "tanh", "reflect"), not as a name of something outside.
bool is_choice(const std::string& text) {
  constexpr std::size_t kLongest = 24;
  return text.size() <= kLongest &&
         std::ranges::all_of(text, [](char c) { return (c >= 'a' && c <= 'z') || c == '_'; });
}

base::Expected<void> check_operator(const Operation& operation) {
  if (!operation.name.starts_with("aten::")) return base::failure(operation.name + " is not an ATen operator");
  if (operation.name.starts_with("aten::from_file")) return base::failure(operation.name + " opens files");
  for (const Argument& argument : operation.arguments) {
    const auto* text = std::get_if<std::string>(&argument);
    if (text != nullptr && !is_choice(*text))
      return base::failure(operation.name + " takes a text that is not one of its choices");
    const auto* device = std::get_if<DeviceArgument>(&argument);
    if (device != nullptr && device->name != "cpu" && device->name != "cuda") {
      return base::failure(operation.name + " takes a device that is neither cpu nor cuda");
    }
  }
  return {};
}

// The inputs into which an operation writes, through views of them as well.
std::vector<ValueId> written_inputs(const Program& program, const ValueStorage& storage, const Operation& operation) {
  std::vector<ValueId> inputs;
  const auto op = find_operator(operation.name);
  for (std::size_t i = 0; i < operation.arguments.size(); ++i) {
    if (!is_written(op->schema().arguments()[i])) continue;
    for (const ValueId id : ids_of(operation.arguments[i])) {
      if (id == kNoValue) continue;
      const ValueId owner = storage.owner[static_cast<std::size_t>(id)];
      if (static_cast<std::size_t>(owner) < program.inputs.size()) inputs.push_back(owner);
    }
  }
  return inputs;
}

bool is_batch(const Program& program, ValueId input) {
  return program.inputs[static_cast<std::size_t>(input)].name == kModelInput;
}

base::Expected<void> check(const ModelProgram& model) {
  const Program& program = model.body.program;
  if (auto verified = verify(program); !verified) return verified;
  const ValueStorage storage = find_storage(program);
  for (const Operation& operation : program.operations) {
    if (auto checked = check_operator(operation); !checked) return checked;
    const auto written = written_inputs(program, storage, operation);
    if (std::ranges::any_of(written, [&](ValueId input) { return is_batch(program, input); })) {
      return base::failure(operation.name + " writes into the batch");
    }
  }
  if (model.output < 0) return base::failure("its output is not a value");
  const auto makes_output = [&](const Operation& operation) {
    return std::ranges::any_of(operation.results, [&](const Argument& result) {
      const auto ids = ids_of(result);
      return std::ranges::find(ids, model.output) != ids.end();
    });
  };
  if (std::ranges::none_of(program.operations, makes_output)) return base::failure("no operation makes its output");
  return {};
}

// An operation whose arguments are changed so that it draws no random number; false where it is none of these.
bool silence(Operation& operation) {
  const auto set = [&](std::size_t argument, Argument value) {
    operation.arguments.at(argument) = std::move(value);
    return true;
  };
  const std::string& name = operation.name;
  if (name == "aten::dropout" || name == "aten::feature_dropout" || name == "aten::alpha_dropout") return set(2, false);
  if (name == "aten::native_dropout") return set(1, 0.0);
  if (name == "aten::scaled_dot_product_attention") return set(4, 0.0);
  return is_recurrent(name) && set(kRecurrentDropout, 0.0);
}

// Batch norm and instance norm take the batch's statistics and leave the running ones alone.
void leave_statistics(Operation& operation) {
  if (operation.name != "aten::batch_norm" && operation.name != "aten::instance_norm") return;
  if (operation.arguments[kNormTraining] != Argument(true)) return;
  operation.arguments[kNormMean] = operation.arguments[kNormVariance] = std::monostate{};
}

}  // namespace

bool is_recurrent(std::string_view operation) {
  return operation == "aten::lstm.input" || operation == "aten::gru.input" || operation == "aten::rnn_tanh.input" ||
         operation == "aten::rnn_relu.input";
}

bool is_tensor_name(std::string_view name) {
  constexpr std::size_t kLongest = 256;
  const auto is_plain = [](char c) { return base::is_alphanumeric_or(c, "_.-"); };
  return !name.empty() && name.size() <= kLongest && std::ranges::all_of(name, is_plain);
}

base::Expected<ModelProgram> parse_model_program(std::string_view text) {
  const json document = json::parse(text, nullptr, /*allow_exceptions=*/false);
  if (!document.is_object()) return base::failure("it is not a JSON object");
  try {
    ModelProgram model = read(document);
    if (const auto checked = check(model); !checked) return base::failure(checked.error());
    return model;
  } catch (const json::exception& error) {
    return base::failure("it is not of the form: " + base::plain_reason(error));
  } catch (const Malformed& error) {
    return base::failure(error.what());
  }
}

base::Expected<ModelProgram> without_effects(const ModelProgram& training) {
  ModelProgram model = training;
  Program& program = model.body.program;
  for (Operation& operation : program.operations) {
    const bool is_silent = silence(operation);
    leave_statistics(operation);
    const auto op = find_operator(operation.name);
    if (is_random(*op) && !is_silent) return base::failure(operation.name + " draws random numbers");
  }
  // A count of batches goes on in the program that trains; operations keep their places, which cuts refer to.
  const ValueStorage storage = find_storage(program);
  for (Operation& operation : program.operations) {
    if (written_inputs(program, storage, operation).empty()) continue;
    const ValueId written = ids_of(operation.arguments[0]).front();
    if (operation.name != "aten::add_.Tensor" && operation.name != "aten::add_.Scalar")
      return base::failure(operation.name + " changes a buffer");
    operation = {"aten::alias", {TensorArgument{written}}, {TensorArgument{written}}};
  }
  return model;
}

}  // namespace esper::program
