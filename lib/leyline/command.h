#pragma once
// The policy's commands.

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "leyline/assessment.h"

namespace esper::leyline {

enum class CommandType : std::uint8_t { kUnknown = 0, kSeed = 1 };
constexpr auto names(CommandType) {
  using T = CommandType;
  return std::array{std::pair{T::kUnknown, "UNKNOWN"}, std::pair{T::kSeed, "SEED"}};
}

enum class SeedOperation : std::uint8_t {
  kGerminate = 1,
  kStartTraining = 2,
  kStartGrafting = 3,  // TRAINING -> BLENDING
  kStabilize = 4,      // BLENDING -> SHADOWING
  kEvaluate = 5,       // SHADOWING -> PROBATIONARY
  kFineTune = 6,
  kFossilize = 7,
  kCull = 8,
  kCancel = 9,
  kKeep = 10,  // at the run's end alone: any growing stage -> FOSSILIZED, without gates
};
constexpr auto names(SeedOperation) {
  using O = SeedOperation;
  return std::array{std::pair{O::kGerminate, "GERMINATE"},
                    std::pair{O::kStartTraining, "START_TRAINING"},
                    std::pair{O::kStartGrafting, "START_GRAFTING"},
                    std::pair{O::kStabilize, "STABILIZE"},
                    std::pair{O::kEvaluate, "EVALUATE"},
                    std::pair{O::kFineTune, "FINE_TUNE"},
                    std::pair{O::kFossilize, "FOSSILIZE"},
                    std::pair{O::kCull, "CULL"},
                    std::pair{O::kCancel, "CANCEL"},
                    std::pair{O::kKeep, "KEEP"}};
}

struct CommandSeedOperation {
  SeedOperation operation = SeedOperation::kGerminate;
  std::string slot;          // GERMINATE: where; START_TRAINING without a seed id: whose seed
  std::string blueprint_id;  // GERMINATE: what
  std::map<std::string, double> parameters;
};

struct AdaptationCommand {
  std::uint32_t version = 1;
  std::string command_id;
  CommandType command_type = CommandType::kUnknown;
  std::string target_seed_id;  // empty for GERMINATE; START_TRAINING may name the slot instead
  std::uint32_t execution_deadline_ms = 0;
  std::uint64_t issued_at_ns = 0;
  std::string issued_by;
  std::optional<CommandSeedOperation> seed_operation;
  std::map<std::string, std::string> annotations;  // "reason": why, as text
};

// The policy's decision after one observation: its commands and reasons, also without commands.
struct Decision {
  std::vector<AdaptationCommand> commands;
  std::string reason;
  std::vector<std::string> warnings = {};  // what the user ordered and the policy could not do
  std::optional<Assessment> assessment = {};
  // How the policy came to it, as JSON text for the log of decisions: what it computed, what was possible. Empty:
  // nothing to add.
  std::string details = {};
};

}  // namespace esper::leyline
