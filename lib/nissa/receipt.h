#pragma once
// What one seed cost and brought, from the run's journal and its telemetry. What a run did not measure stays empty.

#include <cstdint>
#include <filesystem>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "leyline/growth_note.h"
#include "leyline/statistics.h"
#include "nissa/run_history.h"

namespace esper::nissa {

// Median over epochs of the epochs' median step time, from epochs in which no other seed came or went.
struct StepCost {
  std::optional<double> before_ms, after_ms;
  std::size_t epochs_before = 0, epochs_after = 0;
};

// Validation accuracy with the seed minus without it, in percentage points, as it was last measured before its life was
// decided.
struct Contribution {
  std::size_t measurements = 0;
  std::optional<double> points;
  std::optional<leyline::Interval> interval;  // 95 %, over the validation samples
  std::optional<double> shapley_points;       // its share of what all seeds together are worth, of the same epoch
  std::optional<leyline::Interval> shapley_interval;
};

struct StageTime {
  leyline::Stage stage = leyline::Stage::kUnknown;
  std::uint32_t epochs = 0;
};

struct Receipt {
  std::string seed_id, slot, blueprint;
  enum class Outcome { kGrowing, kFossilized, kCulled } outcome = Outcome::kGrowing;
  std::string reason;  // of the last stage, in words
  leyline::RunPlace born;
  std::optional<leyline::RunPlace> ended;  // fossilised or culled
  std::optional<double> parameters, memory_bytes;
  std::optional<double> graft_stall_ms, cull_stall_ms;  // how long training stood still
  StepCost step;
  Contribution contribution;
  std::optional<double> conflicts, conflict_ratio;  // of its gradient with other seeds': count, mean share
  std::optional<double> isolation_violations;
  std::vector<StageTime> stages;           // in the order it passed them; the last one up to the newest note
  std::vector<leyline::GrowthNote> story;  // every event of its life
  std::vector<std::string> gaps;           // what could not be read
};

// Throws as read_run_history; Error{kConfig} that names the seeds there are where this one is unknown. Needs memory for
// one line of telemetry at a time, and a few numbers an epoch.
Receipt read_receipt(const std::filesystem::path& run, const std::string& seed_id);

std::string receipt_text(const Receipt& receipt);
nlohmann::ordered_json receipt_json(const std::string& run, const Receipt& receipt);

}  // namespace esper::nissa
