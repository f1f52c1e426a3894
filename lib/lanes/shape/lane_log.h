#pragma once
// Which bits each step of a run had, so that a resumed run gives its steps the same. Eager, replay and captured graphs
// compute the same bits; a compiled program computes others, its own. When a run changes between them depends on how
// fast things are, so each change is noted in the run's journal, and a resumed run follows the notes from its
// checkpoint on. docs/decisions/0011-lanes-and-exact-recovery.md. Training thread.

#include <cstdint>
#include <map>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/file_system.h"

namespace esper::lanes {

// From this step on, steps of this shape had these bits.
struct LaneRecord {
  std::int64_t step = 0;  // counted as in RunProgress::step
  std::string key;        // of the compiled program in the cache; empty: eager's bits
};

class LaneLog {
 public:
  // Empty, as for a run that begins.
  LaneLog() = default;

  // Takes in one record of a journal, in order. One of another kind is passed over; a lane note that lacks a field, or
  // whose key is none, is counted as damaged.
  void take(std::string_view text);
  std::size_t damaged() const { return damaged_; }

  // Adds a note as it stood in the journal: it replaces what the run had noted for that step and later ones before it
  // was resumed from an earlier one.
  void add(const std::string& shape, LaneRecord note);

  // Those in force at `step` and after it, as a JSON array for the first record of a journal's later file.
  nlohmann::json since(std::int64_t step) const;

  // The note in force; none where the run had not come so far.
  const LaneRecord* at(const std::string& shape, std::int64_t step) const;
  // From here on the run goes its own way.
  void forget(const std::string& shape) { notes_.erase(shape); }
  bool empty() const { return notes_.empty(); }
  // True if a later note than the one in force at `step` waits.
  bool goes_on_after(const std::string& shape, std::int64_t step) const;

 private:
  void take_record(const nlohmann::json& note);

  std::size_t damaged_ = 0;
  std::map<std::string, std::vector<LaneRecord>> notes_;  // ascending steps
};

// A note for the journal.
std::string lane_record_json(const std::string& shape, const LaneRecord& note);
// Those of a journal, from its newest file on that begins at this step or before it; all for step 0.
LaneLog read_lane_log(base::FileSystem& files, const std::string& journal_path, std::int64_t step);

}  // namespace esper::lanes
