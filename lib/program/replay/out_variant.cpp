#include "program/replay/out_variant.h"

#include <unordered_map>
#include <vector>

namespace esper::program {
namespace {

using Overloads = std::unordered_map<std::string, std::vector<c10::OperatorName>>;

const Overloads& all_overloads() {
  static const Overloads overloads = [] {
    Overloads found;
    for (const c10::OperatorName& name : c10::Dispatcher::singleton().getAllOpNames()) found[name.name].push_back(name);
    return found;
  }();
  return overloads;
}

bool is_out(const c10::Argument& argument) {
  return argument.kwarg_only() && argument.alias_info() != nullptr && argument.alias_info()->isWrite();
}

bool takes(const c10::FunctionSchema& functional, const c10::FunctionSchema& candidate) {
  const auto &wanted = functional.arguments(), &offered = candidate.arguments();
  const std::size_t num_results = functional.returns().size();
  if (offered.size() != wanted.size() + num_results) return false;
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    if (*wanted[i].real_type() != *offered[i].real_type() || wanted[i].name() != offered[i].name()) return false;
  }
  for (std::size_t i = wanted.size(); i < offered.size(); ++i) {
    if (!is_out(offered[i])) return false;
  }
  return true;
}

}  // namespace

std::optional<c10::OperatorHandle> find_out_variant(const c10::OperatorHandle& op, c10::DispatchKey backend) {
  const auto overloads = all_overloads().find(op.operator_name().name);
  if (overloads == all_overloads().end()) return std::nullopt;
  for (const c10::OperatorName& name : overloads->second) {
    const auto candidate = c10::Dispatcher::singleton().findSchema(name);
    if (!candidate || !candidate->hasKernelForDispatchKey(backend)) continue;
    if (takes(op.schema(), candidate->schema())) return candidate;
  }
  return std::nullopt;
}

}  // namespace esper::program
