// Programs as JSON text.

#include <nlohmann/json.hpp>

#include "program/program.h"

namespace esper::program {
namespace {

using nlohmann::ordered_json;

constexpr int kProgramVersion = 1;

// An argument is [kind] or [kind, value]: JSON alone would not distinguish 1 from 1.0, nor an empty list's type.
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

}  // namespace

std::string save_program(const Program& program) {
  ordered_json json = {{"version", kProgramVersion},
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

}  // namespace esper::program
