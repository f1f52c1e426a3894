#pragma once
// What became of a command that was carried out: observed for some epochs, then closed with an outcome. Plain data.

#include <array>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>

#include "leyline/telemetry/telemetry_packet.h"

namespace esper::tamiyo {

// Numbers are part of the contract.
enum class Outcome : std::uint8_t { kSuccess = 1, kNeutral = 2, kRegression = 3, kAborted = 4 };
constexpr auto names(Outcome) {
  using O = Outcome;
  return std::array{std::pair{O::kSuccess, "SUCCESS"}, std::pair{O::kNeutral, "NEUTRAL"},
                    std::pair{O::kRegression, "REGRESSION"}, std::pair{O::kAborted, "ABORTED"}};
}

struct FieldReport {
  std::string command_id, training_run_id;
  std::string seed_id, slot, blueprint_id;  // as the command names them
  std::string policy;                       // who issued the command
  std::string risk_reason;                  // the gravest of the evaluations observed
  Outcome outcome = Outcome::kNeutral;
  std::uint32_t epoch = 0;                      // at whose end the command was issued
  std::uint32_t observation_window_epochs = 0;  // that were observed
  // validation_loss and validation_accuracy at the end, and their changes since the command: *_delta. Empty: no epoch
  // was observed.
  std::map<std::string, double> metrics;
  bool operator==(const FieldReport&) const = default;
};

// What a risk reason says of the command before it: REGRESSION where the loss rose abruptly, a gradient went astray or
// a budget was exceeded; NEUTRAL where the policy was late or paused; else SUCCESS.
Outcome outcome_of(std::string_view risk_reason);

// A closed one. Its *_delta are empty where no epoch was observed.
leyline::TelemetryEvent report_event(const FieldReport& report);

}  // namespace esper::tamiyo
