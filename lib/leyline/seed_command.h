#pragma once
// The two commands about a seed that need nothing but their operands. What a policy adds (who asks, why, when) is its
// own.

#include <string>
#include <utility>

#include "leyline/command.h"

namespace esper::leyline {

// KEEP's parameter: the alpha at which the fossil stays, above 0 to 1; without it 1. A widening takes 1 alone.
inline constexpr char kKeptAlpha[] = "alpha";

inline AdaptationCommand seed_command(std::string command_id, SeedOperation operation, std::string seed_id) {
  AdaptationCommand command;
  command.command_id = std::move(command_id);
  command.command_type = CommandType::kSeed;
  command.target_seed_id = std::move(seed_id);
  command.seed_operation.emplace();
  command.seed_operation->operation = operation;
  return command;
}

inline AdaptationCommand germination(std::string command_id, std::string slot, std::string blueprint_id) {
  AdaptationCommand command = seed_command(std::move(command_id), SeedOperation::kGerminate, "");
  command.seed_operation->slot = std::move(slot);
  command.seed_operation->blueprint_id = std::move(blueprint_id);
  return command;
}

}  // namespace esper::leyline
