#include "program/ivalue.h"
#include "program/program.h"

namespace esper::program {
namespace {

class Verifier {
 public:
  explicit Verifier(const Program& program) : program_(program), defined_(program.values.size(), false) {}

  std::string run() {
    if (program_.inputs.size() > program_.values.size()) return "it has more inputs than values";
    for (const TensorType& type : program_.values) {
      if (type.sizes.size() != type.strides.size()) return "a value has another number of strides than of sizes";
      for (const std::int64_t size : type.sizes) {
        if (size < 0) return "a value has a negative size";
      }
    }
    std::fill_n(defined_.begin(), program_.inputs.size(), true);
    for (const Operation& operation : program_.operations) {
      if (std::string reason = check(operation); !reason.empty()) return operation.name + ": " + reason;
    }
    return {};
  }

 private:
  std::string check(const Operation& operation) {
    const auto op = find_operator(operation.name);
    if (!op) return "this torch has no such operator";
    const auto& arguments = op->schema().arguments();
    const auto& returns = op->schema().returns();
    if (operation.arguments.size() != arguments.size()) return "another number of arguments";
    if (operation.results.size() != returns.size()) return "another number of results";
    for (std::size_t i = 0; i < arguments.size(); ++i) {
      if (std::string reason = mismatch(operation.arguments[i], arguments[i]); !reason.empty()) return reason;
      if (!all_defined(operation.arguments[i])) return "argument " + arguments[i].name() + " is used before it is made";
    }
    for (std::size_t i = 0; i < returns.size(); ++i) {
      if (std::string reason = define(operation.results[i], is_written(returns[i])); !reason.empty()) return reason;
    }
    return {};
  }

  bool in_range(ValueId id) const { return id >= 0 && static_cast<std::size_t>(id) < program_.values.size(); }

  bool all_defined(const Argument& argument) const {
    return std::ranges::all_of(ids_of(argument), [&](ValueId id) {
      return id == kNoValue || (in_range(id) && defined_[static_cast<std::size_t>(id)]);
    });
  }

  std::string define(const Argument& result, bool written) {
    for (const ValueId id : ids_of(result)) {
      if (id == kNoValue) continue;
      if (!in_range(id)) return "its result is no value";
      const bool known = defined_[static_cast<std::size_t>(id)];
      if (written && !known) return "it writes what is not there";
      defined_[static_cast<std::size_t>(id)] = true;
    }
    return {};
  }

  const Program& program_;
  std::vector<bool> defined_;
};

}  // namespace

std::string verify(const Program& program) { return Verifier(program).run(); }

}  // namespace esper::program
