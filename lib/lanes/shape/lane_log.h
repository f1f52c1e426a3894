#pragma once
// Which bits each step of a run had, so that a resumed run gives its steps the same bits. Eager, replay and captured
// graphs compute the same bits; each compiled program computes its own. The step at which a run changes between them
// depends on timing, so each change is recorded in the run's journal, and a resumed run follows these records from its
// checkpoint on. docs/decisions/0011-lanes-and-exact-recovery.md. Training thread.

#include <array>
#include <cstdint>
#include <map>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/file_system.h"

namespace esper::lanes {

// After a step in eager: how near its shape is to running a compiled program.
enum class LaneStage {
  kNone,       // in `auto` measured times decide when programs run; in the other lanes none does
  kWarmingUp,  // it runs more steps in eager, and is then recorded
  kComparing,  // its steps are a program; the next one is run compiled and in eager, and compared
  kRejected,   // its compiled program was rejected: it stays in eager
};
constexpr auto names(LaneStage) {
  using S = LaneStage;
  return std::array{std::pair{S::kNone, ""}, std::pair{S::kWarmingUp, "warming_up"},
                    std::pair{S::kComparing, "comparing"}, std::pair{S::kRejected, "rejected"}};
}

struct LaneProgress {
  LaneStage stage = LaneStage::kNone;
  // kWarmingUp: steps in eager before the one that is recorded. kComparing: small differences in a row so far.
  std::int64_t count = 0;

  bool operator==(const LaneProgress&) const = default;
};

// From this step on, steps of this shape had these bits.
struct LaneRecord {
  std::int64_t step = 0;  // counted as in RunProgress::step
  std::string key{};      // of the compiled program in the cache; empty: eager's bits
  bool on_trial = false;  // the steps are the program's turn in a trial: it is not adopted
  // Of the compiled program that has the steps after this one, in which it was compared; empty: as this step. With
  // kComparing it is compared in the next step, too.
  std::string then{};
  LaneProgress progress{};

  bool operator==(const LaneRecord&) const = default;
};

class LaneLog {
 public:
  // Empty, as for a new run.
  LaneLog() = default;

  // Adds one record of a journal; records must come in order. Records of other kinds are ignored; a lane record with a
  // missing or invalid field is counted as damaged.
  void take(std::string_view text);
  std::size_t damaged() const { return damaged_; }

  // Adds a lane record of the journal. It replaces the shape's records for this and later steps, which were written
  // before the run was resumed from an earlier step.
  void add(const std::string& shape, LaneRecord record);

  // The records in force at `step` and after it, as a JSON array for the first record of a later journal file.
  nlohmann::json since(std::int64_t step) const;

  // The record in force at `step`, nothing if there is none: after a step with LaneRecord::then, one of that program,
  // with the progress of that step.
  std::optional<LaneRecord> at(const std::string& shape, std::int64_t step) const;
  // The network's structure changes before `step`: drops shapes that have no record from there on, which say nothing of
  // the new structure. Returns the records that were in force.
  std::map<std::string, LaneRecord> end_structure(std::int64_t step);
  // Drops the records of a shape that no longer follows them.
  void forget(const std::string& shape) { records_.erase(shape); }
  bool empty() const { return records_.empty(); }
  bool has(const std::string& shape) const { return records_.contains(shape); }
  // True if there is a record after the one in force at `step`.
  bool goes_on_after(const std::string& shape, std::int64_t step) const;

 private:
  void take_record(const nlohmann::json& record);
  const LaneRecord* written_at(const std::string& shape, std::int64_t step) const;

  std::size_t damaged_ = 0;
  std::map<std::string, std::vector<LaneRecord>> records_;  // ascending steps
};

// The journal record as JSON.
std::string lane_record_json(const std::string& shape, const LaneRecord& record);
// The lane records of a journal, from the newest file that begins at or before `step`; every file for step 0.
LaneLog read_lane_log(base::FileSystem& files, const std::string& journal_path, std::int64_t step);

}  // namespace esper::lanes
