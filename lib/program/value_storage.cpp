#include "program/value_storage.h"

#include "base/error.h"
#include "program/ivalue.h"

namespace esper::program {

ValueStorage find_storage(const Program& program) {
  const std::size_t num_values = program.values.size();
  ValueStorage storage{std::vector<ValueId>(num_values), std::vector<std::int32_t>(num_values, -1)};
  std::vector<bool> defined(num_values, false);
  for (std::size_t i = 0; i < num_values; ++i) storage.owner[i] = static_cast<ValueId>(i);
  std::fill_n(defined.begin(), program.inputs.size(), true);
  const auto touch = [&](ValueId id, std::int32_t at) {
    if (id != kNoValue) storage.last_use[static_cast<std::size_t>(storage.owner[static_cast<std::size_t>(id)])] = at;
  };
  for (std::size_t at = 0; at < program.operations.size(); ++at) {
    const Operation& operation = program.operations[at];
    const auto index = static_cast<std::int32_t>(at);
    const auto op = find_operator(operation.name);
    ESPER_CHECK(op.has_value(), "a program that was not verified");
    for (const Argument& argument : operation.arguments) {
      for (const ValueId id : ids_of(argument)) touch(id, index);
    }
    for (std::size_t result = 0; result < operation.results.size(); ++result) {
      const auto viewed = viewed_argument(op->schema(), result);
      const Argument* base = viewed ? &operation.arguments[*viewed] : nullptr;
      for (const ValueId id : ids_of(operation.results[result])) {
        if (id == kNoValue) continue;
        const auto value = static_cast<std::size_t>(id);
        if (!defined[value]) {
          defined[value] = true;
          if (base != nullptr && !ids_of(*base).empty() && ids_of(*base).front() != kNoValue) {
            storage.owner[value] = storage.owner[static_cast<std::size_t>(ids_of(*base).front())];
          }
        }
        touch(id, index);
      }
    }
  }
  return storage;
}

}  // namespace esper::program
