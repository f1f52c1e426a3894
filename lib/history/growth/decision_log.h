#pragma once
// A run's decisions, read back from `decisions.jsonl` in its folder, whatever happened to its writer. Any thread.
//
//   for (const auto& [record, process, line] : history::read_decision_log(run).entries) ...
//
// Each consultation is there once: a process that goes on from a checkpoint makes the decisions after it again, and
// those that were recorded before are dropped. A fork begins with what its ancestors decided before the fork.

#include <cstddef>
#include <string>
#include <vector>

#include "leyline/decision_record.h"

namespace esper::history {

// Name inside a run folder.
inline constexpr char kDecisionLog[] = "decisions.jsonl";
// Beyond it nothing is appended, and nothing is read.
inline constexpr std::uint64_t kMostDecisionLogBytes = 1ull << 30;

struct DecisionEntry {
  leyline::DecisionRecord record;
  std::size_t process = 0;  // its place in DecisionLog::processes
  std::size_t line = 0;     // in its run's file, from 1
};

struct DecisionLog {
  std::vector<leyline::DecisionProcess> processes;
  std::vector<DecisionEntry> entries;  // in the order of the run
  std::size_t given_up = 0;            // records of epochs that were trained again
  std::size_t damaged = 0;             // lines that were ignored
  std::vector<std::string> gaps;       // "line 7 of runs/a/decisions.jsonl was ignored: ..."
};

// Throws base::Error{kConfig} where `run` is no run folder, Error{kData} where it has no log, and IoError.
DecisionLog read_decision_log(const std::string& run);

// Throws base::Error{kData} where it has no decision and no line of it is damaged.
void require_decisions(const DecisionLog& log, const std::string& run);

// The newest decision after this epoch. Throws base::Error{kConfig}, with the epochs that there are, where there is
// none.
const DecisionEntry& decision_after(const DecisionLog& log, std::uint32_t epoch);

}  // namespace esper::history
