#pragma once
// Conservative mode: no command of the policy is carried out until it was calm for a while. A state machine as data.

#include <optional>
#include <string>

namespace esper::tamiyo {

struct ConservativeMode {
  bool is_active = false;
  int calm_evaluations = 0;  // in a row since it was entered, or since the last that was not calm
  bool operator==(const ConservativeMode&) const = default;
};

// What one evaluation showed.
struct ModeEvidence {
  std::optional<std::string> enter_reason = {};  // why it must be entered
  bool is_calm = false;                          // a decision came, and nothing but the mode itself spoke against it
  bool breaker_closed = true;
};

enum class ModeChange { kNone, kEntered, kExited };

// It is left after `recovery_evaluations` calm ones in a row, the breaker being closed.
ModeChange update_mode(ConservativeMode& mode, const ModeEvidence& evidence, int recovery_evaluations);

}  // namespace esper::tamiyo
