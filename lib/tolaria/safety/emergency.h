#pragma once
// How badly a run is failing, in four levels (reference 1.12): raised only upward, cleared by an epoch that ended
// well. Other processes see the level in shared memory, where the run file names it. Training thread.

#include <cstdint>
#include <optional>
#include <string>

#include "config/safety_config.h"
#include "tolaria/run/outbox.h"
#include "tolaria/safety/shared_signal.h"

namespace esper::tolaria {

enum class EmergencyLevel : std::uint8_t {
  kNone = 0,
  kNotice = 1,        // an epoch took longer than its budget
  kElevated = 2,      // an epoch went wrong: it was undone, or a step of it was
  kConservative = 3,  // the policy decides nothing
  kHalt = 4,          // the run saves and ends
};

// Of this process.
struct EmergencyFigures {
  std::int64_t halts = 0;
  bool operator==(const EmergencyFigures&) const = default;
};

class Emergency {
 public:
  // Borrows the outbox. What is wrong with a shared memory object is a warning, and the run goes on without it.
  Emergency(const config::EmergencyConfig& config, base::Clock clock, Outbox& outbox);

  // To that level, if it is above the present one. streak: failed epochs in a row.
  void raise(EmergencyLevel level, std::int64_t streak, const std::string& reason);
  // An epoch failed, the streak-th in a row.
  void fail_epoch(std::int64_t streak, const std::string& reason);
  // A return to an earlier state was late.
  void late_rollback(double latency_ms, std::int64_t streak);
  // What it was raised for is over; `remaining`: the level of what is not.
  void end_good_epoch(EmergencyLevel remaining = EmergencyLevel::kNone);

  bool is_halted() const { return level_ == EmergencyLevel::kHalt; }
  const std::string& reason() const { return reason_; }
  const EmergencyFigures& figures() const { return figures_; }

 private:
  config::EmergencyConfig config_;
  base::Clock clock_;
  Outbox& outbox_;
  EmergencyLevel level_ = EmergencyLevel::kNone;
  std::string reason_;
  EmergencyFigures figures_;
  std::optional<SharedSignal> signal_, rollback_signal_;
};

}  // namespace esper::tolaria
