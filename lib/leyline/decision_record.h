#pragma once
// The log of decisions: what a policy was asked, what it knew, and what it answered, so that each decision can be made
// again. Plain data, and as lines of text: one record a line, with a checksum. history/growth/decision_log.h reads a
// run's. Any thread.
//
//   controller->load_state(record.state);
//   controller->decide(record.observation);  // record.answer.decision again, but for its times

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/expected.h"
#include "leyline/command.h"
#include "leyline/observation.h"

namespace esper::leyline {

// A process that goes on with a run; the records after it are of its decisions.
struct DecisionProcess {
  std::uint32_t format = 1;
  std::string run_id;
  std::uint32_t epoch =
      0;  // completed when it began, as the steps: what was recorded of later ones before was given up
  std::uint64_t step = 0;
  std::string policy;  // policy.kind
  std::string config;  // the whole run file that it ran by, resolved, as YAML
};

// What came of asking a policy.
struct AnswerRecord {
  std::string outcome;  // "decided", "late", "busy", "failed", "breaker_open"
  std::string problem;  // why there is no decision
  double latency_ms = 0;
  Decision decision;  // of a policy that decided, as it gave it
};

// Of an ensemble: a policy that was asked as well, whose answer changes nothing.
struct ShadowRecord {
  std::string policy;  // its kind
  std::string state;   // as DecisionRecord::state
  AnswerRecord answer;
};

// One consultation, after the epoch observation.current_epoch.
struct DecisionRecord {
  Observation observation;
  std::string policy;                     // the kind that decided
  std::string state;                      // of the controller before, as its save_state() gave it
  std::string service;                    // of the policy's service before, JSON; empty: there is none
  std::map<std::string, double> figures;  // of the run, that the service judged by
  AnswerRecord answer;
  Decision
      carried_out;  // what the service made of the answer, without details; the answer's decision where there is none
  std::string held_by;  // the risk rule that changed it; "policy" or empty: none
  std::vector<ShadowRecord> shadows;
};

// Bytes of a line that is written and read.
inline constexpr std::size_t kMostDecisionLine = 8 << 20;

// {"check":"<16 hexadecimal digits>","decision":{...}} or {"check":"...","process":{...}}, without a line feed.
std::string decision_line(const DecisionRecord& record);
std::string decision_line(const DecisionProcess& process);

using DecisionLine = std::variant<DecisionProcess, DecisionRecord>;
// Fails with what is wrong with the line: cut off, changed since it was written, or no such record.
base::Expected<DecisionLine> read_decision_line(std::string_view line);

// Whether two decisions are the same, bit for bit, but for the times of their making. Else where they differ first:
// "commands[0].seed_operation.slot: r0c1, not r0c2".
std::optional<std::string> difference(const Decision& recorded, const Decision& again);

}  // namespace esper::leyline
