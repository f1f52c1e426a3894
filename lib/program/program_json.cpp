// Programs as JSON text, and back with every number checked.

#include <nlohmann/json.hpp>

#include "program/program.h"

namespace esper::program {
namespace {

using nlohmann::ordered_json;

constexpr int kVersion = 1;
constexpr std::size_t kMostBytes = 64u << 20, kMostValues = 1u << 20;

// An argument is [kind] or [kind, value]: JSON alone would not tell 1 from 1.0, nor an empty list's type.
struct WriteArgument {
  ordered_json operator()(std::monostate) const { return {"none"}; }
  ordered_json operator()(const TensorArgument& argument) const { return {"tensor", argument.id}; }
  ordered_json operator()(const TensorListArgument& argument) const { return {"tensors", argument.ids}; }
  ordered_json operator()(bool argument) const { return {"bool", argument}; }
  ordered_json operator()(std::int64_t argument) const { return {"int", argument}; }
  ordered_json operator()(double argument) const { return {"real", bits(argument)}; }
  ordered_json operator()(const std::vector<std::int64_t>& argument) const { return {"ints", argument}; }
  ordered_json operator()(const std::vector<double>& argument) const {
    std::vector<std::uint64_t> all;
    for (const double item : argument) all.push_back(bits(item));
    return {"reals", all};
  }
  ordered_json operator()(const std::vector<bool>& argument) const { return {"bools", argument}; }
  ordered_json operator()(const std::string& argument) const { return {"text", argument}; }
  ordered_json operator()(const DeviceArgument& argument) const { return {"device", argument.name}; }
  // Infinities and the last digit survive as bits.
  static std::uint64_t bits(double value) { return std::bit_cast<std::uint64_t>(value); }
};

ordered_json write(const std::vector<Argument>& arguments) {
  ordered_json list = ordered_json::array();
  for (const Argument& argument : arguments) list.push_back(std::visit(WriteArgument{}, argument));
  return list;
}

Argument read_argument(const ordered_json& json) {
  const std::string kind = json.at(0);
  const auto real = [](const ordered_json& value) { return std::bit_cast<double>(value.get<std::uint64_t>()); };
  if (kind == "none") return std::monostate{};
  const ordered_json& value = json.at(1);
  if (kind == "tensor") return TensorArgument{value.get<ValueId>()};
  if (kind == "tensors") return TensorListArgument{value.get<std::vector<ValueId>>()};
  if (kind == "bool") return value.get<bool>();
  if (kind == "int") return value.get<std::int64_t>();
  if (kind == "real") return real(value);
  if (kind == "ints") return value.get<std::vector<std::int64_t>>();
  if (kind == "reals") {
    std::vector<double> all;
    for (const auto& item : value) all.push_back(real(item));
    return all;
  }
  if (kind == "bools") return value.get<std::vector<bool>>();
  if (kind == "text") return value.get<std::string>();
  if (kind == "device") return DeviceArgument{value.get<std::string>()};
  throw std::invalid_argument("an argument of kind " + kind);
}

std::vector<Argument> read_arguments(const ordered_json& json) {
  std::vector<Argument> arguments;
  for (const auto& item : json) arguments.push_back(read_argument(item));
  return arguments;
}

Program read_program(const ordered_json& json) {
  if (json.at("version") != kVersion) throw std::invalid_argument("a program of another version");
  Program program;
  for (const auto& item : json.at("inputs")) {
    program.inputs.push_back({item.at(0), item.at(1) == "inout" ? Access::kWritten : Access::kRead});
  }
  if (json.at("values").size() > kMostValues) throw std::invalid_argument("too many values");
  for (const auto& item : json.at("values")) {
    program.values.push_back({static_cast<c10::ScalarType>(item.at(0).get<std::int8_t>()),
                              static_cast<c10::DeviceType>(item.at(1).get<std::int8_t>()), item.at(2), item.at(3)});
  }
  for (const auto& item : json.at("operations")) {
    program.operations.push_back({item.at(0), read_arguments(item.at(1)), read_arguments(item.at(2))});
  }
  return program;
}

}  // namespace

std::string save_program(const Program& program) {
  ordered_json json = {{"version", kVersion},
                       {"inputs", ordered_json::array()},
                       {"values", ordered_json::array()},
                       {"operations", ordered_json::array()}};
  for (const Input& input : program.inputs) {
    json["inputs"].push_back({input.name, input.access == Access::kWritten ? "inout" : "in"});
  }
  for (const TensorType& type : program.values) {
    json["values"].push_back({static_cast<int>(type.dtype), static_cast<int>(type.device), type.sizes, type.strides});
  }
  for (const Operation& operation : program.operations) {
    json["operations"].push_back({operation.name, write(operation.arguments), write(operation.results)});
  }
  return json.dump();
}

base::Expected<Program> load_program(const std::string& text) {
  if (text.size() > kMostBytes) return base::failure("it is longer than any program");
  try {
    Program program = read_program(ordered_json::parse(text));
    if (const auto sound = verify(program); !sound) return base::failure(sound.error());
    return program;
  } catch (const std::exception& error) {
    return base::failure(error.what());
  }
}

}  // namespace esper::program
