#pragma once
// Where a policy comes from: what it was trained on, by which command, with which figures. A part of its file, for
// those who decide whether to trust it; nothing computes with it. Plain data. Any thread.

#include <array>
#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "base/expected.h"

namespace esper::tamiyo {

enum class RunPart { kTraining, kHeldOut };
constexpr auto names(RunPart) {
  return std::array{std::pair{RunPart::kTraining, "training"}, std::pair{RunPart::kHeldOut, "held_out"}};
}

struct SourceRun {
  std::string name;    // of its folder
  std::string digest;  // of its log of decisions, 16 hexadecimal digits
  RunPart part = RunPart::kTraining;
  std::uint64_t decisions = 0;     // that were learned from, or measured on
  std::uint64_t germinations = 0;  // of these
};

struct Provenance {
  std::uint32_t version = 1;
  std::string method;                      // "imitation"
  std::string teacher;                     // whose decisions were learned: a policy.kind
  std::string command;                     // that made the file
  std::string date;                        // UTC, "2026-03-01"
  std::string esper;                       // version and commit of the program
  std::map<std::string, double> settings;  // of the training: "epochs", "seed", ...
  std::vector<SourceRun> runs;
  std::map<std::string, double> training,
      held_out;  // agreement with the teacher; empty: there was nothing to measure on
};

// {"version": 1, ...}, one line.
std::string provenance_text(const Provenance& provenance);
// Fails, with the field, for what is no such text or of a later version.
base::Expected<Provenance> read_provenance(const std::string& text);

}  // namespace esper::tamiyo
