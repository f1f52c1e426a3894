#include "program/ivalue.h"
#include "program/program.h"

namespace esper::program {
namespace {

class Verifier {
 public:
  explicit Verifier(const Program& program) : program_(program), defined_(program.values.size(), false) {}

  base::Expected<void> run() {
    if (program_.inputs.size() > program_.values.size()) return base::failure("it has more inputs than values");
    for (const TensorType& type : program_.values) {
      if (type.sizes.size() != type.strides.size())
        return base::failure("a value has another number of strides than of sizes");
      for (const std::int64_t size : type.sizes) {
        if (size < 0) return base::failure("a value has a negative size");
      }
    }
    std::fill_n(defined_.begin(), program_.inputs.size(), true);
    for (const Operation& operation : program_.operations) {
      if (const auto checked = check(operation); !checked) {
        return base::failure(operation.name + ": " + checked.error());
      }
    }
    return {};
  }

 private:
  base::Expected<void> check(const Operation& operation) {
    const auto op = find_operator(operation.name);
    if (!op) return base::failure("this torch has no such operator");
    const auto& arguments = op->schema().arguments();
    const auto& returns = op->schema().returns();
    if (operation.arguments.size() != arguments.size()) return base::failure("another number of arguments");
    if (operation.results.size() != returns.size()) return base::failure("another number of results");
    for (std::size_t i = 0; i < arguments.size(); ++i) {
      if (auto fits = check_type(operation.arguments[i], arguments[i]); !fits) return fits;
      if (!all_defined(operation.arguments[i])) {
        return base::failure("argument " + arguments[i].name() + " is used before it is defined");
      }
    }
    for (std::size_t i = 0; i < returns.size(); ++i) {
      if (auto defined = define(operation.results[i], is_written(returns[i])); !defined) return defined;
    }
    return {};
  }

  bool in_range(ValueId id) const { return id >= 0 && static_cast<std::size_t>(id) < program_.values.size(); }

  bool all_defined(const Argument& argument) const {
    return std::ranges::all_of(ids_of(argument), [&](ValueId id) {
      return id == kNoValue || (in_range(id) && defined_[static_cast<std::size_t>(id)]);
    });
  }

  base::Expected<void> define(const Argument& result, bool written) {
    for (const ValueId id : ids_of(result)) {
      if (id == kNoValue) continue;
      if (!in_range(id)) return base::failure("its result is not a value");
      const bool known = defined_[static_cast<std::size_t>(id)];
      if (written && !known) return base::failure("it writes a value that does not exist");
      defined_[static_cast<std::size_t>(id)] = true;
    }
    return {};
  }

  const Program& program_;
  std::vector<bool> defined_;
};

}  // namespace

base::Expected<void> verify(const Program& program) { return Verifier(program).run(); }

}  // namespace esper::program
