#pragma once
// What one seed cost and brought, from the run's journal and its telemetry. What a run did not measure stays empty.

#include <cstdint>
#include <filesystem>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "base/statistics.h"
#include "history/growth/growth_record.h"
#include "history/growth/lineage.h"
#include "history/receipt/seed_telemetry.h"

namespace esper::history {

// Median over epochs of the epochs' median step time, from the epochs next to the graft that one process trained and
// in which no other seed came or went.
struct StepCost {
  std::optional<double> before_ms, after_ms;
  std::size_t epochs_before = 0, epochs_after = 0;
};

// The seed against a control that trained without it, as last measured before it was kept or removed. Definition:
// leyline/seed_worth.h.
struct Worth {
  std::optional<double> epochs;  // compared
  std::optional<double> points, loss;
  std::optional<base::Interval> points_interval, loss_interval;  // 95 %, over the validation samples
};

// The drop of validation accuracy when the seed is switched off in the network as it is, which has adapted to it: with
// the seed minus without it, in percentage points, as it was last measured before the seed was kept or removed.
struct Contribution {
  std::size_t measurements = 0;
  std::optional<double> points;
  std::optional<base::Interval> interval;  // 95 %, over the validation samples
  std::optional<double> shapley_points;    // its share of the value of all seeds, of the same epoch
  std::optional<base::Interval> shapley_interval;
  // Least growth.counterfactual.max_configurations with which it is measured, if that was why it was not.
  std::optional<double> configurations_needed;
};

struct StageTime {
  leyline::Stage stage = leyline::Stage::kUnknown;
  std::optional<std::uint32_t> epochs;  // none where the records of its begin or its end are missing
};

// An epoch at whose end the growing seed's contribution was measured. Percentage points.
struct MeasuredEpoch {
  std::uint32_t epoch = 0;
  double contribution_points = 0;
  std::optional<double> accuracy_points;  // validation accuracy of the running network
};

// What the seed earned by the reward that a policy is trained with. The formula is not this room's:
// simic/seed_reward.h works it out from the receipt.
struct SeedReward {
  struct Epoch {
    std::uint32_t epoch = 0;
    double attribution = 0, discount = 1, ratio_penalty = 0, reward = 0;
  };
  std::vector<Epoch> epochs;
  std::optional<double> total;  // none where no epoch's could be worked out
  std::string missing;          // why there is none, or for which epochs; empty: nothing is missing
};

struct Receipt {
  std::string seed_id, slot, blueprint;
  enum class Outcome { kGrowing, kFossilized, kCulled } outcome = Outcome::kGrowing;
  // kHost: the module was built into the host (host.modules). kParent: it came with the fork, and the journal of the
  // run before cannot be read. kUnknown: the records of its birth are missing.
  enum class Origin { kGerminated, kHost, kParent, kUnknown } origin = Origin::kGerminated;
  std::string reason;             // of the last stage
  std::string doubt;              // why the last stage may not be the newest one: records are missing; else empty
  std::optional<RunPlace> born;   // none for kParent and kUnknown
  std::optional<RunPlace> ended;  // fossilised or culled, if a record has the place
  // Runs in which its timeline begins, the nearest first; kParent: up to the one that cannot be read. None: in this
  // run.
  std::vector<Ancestor> ancestors;
  std::optional<double> parameters, memory_bytes;
  std::string folded;  // a fossil that is part of a layer of the host: of which, and what it changed; else empty
  std::optional<double> graft_stall_ms, cull_stall_ms;  // how long training stood still for the command
  std::optional<StructureSwap> swap;                    // of the step of the grafted network
  StepCost step;
  Worth worth;
  Contribution contribution;
  std::vector<MeasuredEpoch> measured;  // oldest first
  bool telemetry_missing = false;       // a part of its lifetime has no telemetry.jsonl
  // Validation accuracy that a growing seed started from: when it was germinated, and after its first epoch.
  std::optional<double> accuracy_at_birth_points, accuracy_after_first_epoch_points;
  std::optional<SeedReward> reward;
  std::optional<double> conflicts, conflict_ratio;  // of its gradient with other seeds': count, mean share
  std::optional<double> isolation_violations;
  std::vector<StageTime> stages;       // in the order it passed them; the last one up to the newest record
  std::vector<GrowthRecord> timeline;  // every event of its lifecycle
  std::vector<std::string> gaps;       // what could not be read
};

// A seed that a fork's parent knew is followed back into the parent's folder. Throws as read_run_history;
// Error{kConfig} that names the seeds there are where this one is unknown, or the run to ask where a fork left it
// out. Needs memory for the records of the run and of those it goes back to (GrowthHistory::kMostRecords of them, of
// kMostBytes of text, and as much again while one more journal is read), for one line of telemetry at a time, and for a
// few numbers an epoch.
Receipt read_receipt(const std::filesystem::path& run, const std::string& seed_id);

// "still growing", "fossilised", "culled"
const char* label_of(Receipt::Outcome outcome);
std::string receipt_text(const Receipt& receipt);
nlohmann::ordered_json receipt_json(const std::string& run, const Receipt& receipt);

}  // namespace esper::history
