#pragma once
// A complete description of what happened to a seed, for telemetry and for the journal. Any thread.

#include <string>
#include <utility>
#include <vector>

#include "leyline/seed.h"

namespace esper::kasmina {

// One event of a seed, ready to be reported: a stage change, a gate's verdict, a graft, a rejected command.
struct LifecycleEvent {
  enum class Kind { kStage, kGate, kGraft, kCull, kFold, kCommandRejected, kViolation } kind = Kind::kStage;
  std::string seed_id, slot, blueprint;
  leyline::Stage from = leyline::Stage::kUnknown, to = leyline::Stage::kUnknown;
  std::string reason;                                    // with measured values and thresholds
  std::vector<std::pair<std::string, double>> values;    // measured values by name
  std::vector<std::pair<std::string, double>> required;  // kGate: thresholds by name
  std::string command_id, command_type;                  // command_type: of kCommandRejected
  std::string code;    // kGate: "G0" to "G5"; kCommandRejected: "duplicate_command", "gate_failed", ...; else empty
  bool passed = true;  // kGate: the verdict; kFold: whether it was done; kCommandRejected: false
};

}  // namespace esper::kasmina
