#include "program/simplify.h"

#include <algorithm>

#include "program/ivalue.h"

namespace esper::program {
namespace {

bool seen_from_outside(const Operation& operation) {
  const auto op = find_operator(operation.name);
  return !op || is_random(*op) || writes_argument(*op);
}

void mark(const Argument& argument, std::vector<bool>& used) {
  for (const ValueId id : ids_of(argument)) {
    if (id != kNoValue) used[static_cast<std::size_t>(id)] = true;
  }
}

// By operation.
std::vector<bool> find_needed(const Program& program, std::vector<bool>& used) {
  std::vector<bool> needed(program.operations.size(), false);
  for (std::size_t at = program.operations.size(); at-- > 0;) {
    const Operation& operation = program.operations[at];
    bool keep = seen_from_outside(operation);
    for (const Argument& result : operation.results) {
      for (const ValueId id : ids_of(result)) keep = keep || (id != kNoValue && used[static_cast<std::size_t>(id)]);
    }
    needed[at] = keep;
    if (!keep) continue;
    for (const auto* arguments : {&operation.arguments, &operation.results}) {
      for (const Argument& argument : *arguments) mark(argument, used);
    }
  }
  return needed;
}

void renumber(Argument& argument, const std::vector<ValueId>& number) {
  const auto renumbered = [&](ValueId id) { return id == kNoValue ? id : number[static_cast<std::size_t>(id)]; };
  if (auto* one = std::get_if<TensorArgument>(&argument)) {
    one->id = renumbered(one->id);
  } else if (auto* many = std::get_if<TensorListArgument>(&argument)) {
    for (ValueId& id : many->ids) id = renumbered(id);
  }
}

}  // namespace

Program simplify(const Program& program) {
  std::vector<bool> used(program.values.size(), false);
  const std::vector<bool> needed = find_needed(program, used);
  Program result;
  std::vector<ValueId> number(program.values.size(), kNoValue);
  for (std::size_t i = 0; i < program.values.size(); ++i) {
    if (!used[i]) continue;
    number[i] = static_cast<ValueId>(result.values.size());
    result.values.push_back(program.values[i]);
    if (i < program.inputs.size()) result.inputs.push_back(program.inputs[i]);
  }
  for (std::size_t at = 0; at < program.operations.size(); ++at) {
    if (!needed[at]) continue;
    Operation operation = program.operations[at];
    for (Argument& argument : operation.arguments) renumber(argument, number);
    for (Argument& made : operation.results) renumber(made, number);
    result.operations.push_back(std::move(operation));
  }
  return result;
}

}  // namespace esper::program
