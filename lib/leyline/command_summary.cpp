#include "leyline/command_summary.h"

#include <fmt/core.h>

#include "base/names.h"
#include "base/text/joined.h"

namespace esper::leyline {

std::string command_name(const AdaptationCommand& command) {
  if (!command.seed_operation) return "no operation";
  const auto& [operation, slot, blueprint, parameters] = *command.seed_operation;
  const auto name = base::name_of(operation);
  if (!command.target_seed_id.empty()) return fmt::format("{} {}", name, command.target_seed_id);
  return blueprint.empty() ? fmt::format("{} at {}", name, slot) : fmt::format("{} {} at {}", name, blueprint, slot);
}

std::vector<std::string> command_names(const Decision& decision) {
  std::vector<std::string> names;
  for (const auto& command : decision.commands) {
    names.push_back(command_name(command));
    if (!command.seed_operation || command.seed_operation->parameters.empty()) continue;
    names.back() += fmt::format(" ({})", base::joined(command.seed_operation->parameters, ", ", [](const auto& one) {
                                  return fmt::format("{}={}", one.first, one.second);
                                }));
  }
  return names;
}

std::string summary(const Decision& decision) {
  return decision.commands.empty() ? "nothing" : base::joined(command_names(decision));
}

}  // namespace esper::leyline
