#pragma once
// How a run goes on after steps and epochs that went wrong: plain data, which checkpoints keep, so that a resumed run
// does the same.

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <vector>

#include "tolaria/state/reaction_record.h"

namespace esper::tolaria {

// From a step of the run on.
struct FromStep {
  std::int64_t step = 0;
  double value = 1;
  bool operator==(const FromStep&) const = default;
};

// Whether an epoch's end removed an active seed (alpha above 0), and whether the epoch's validation had it: one that
// was undone has not.
enum class RemovedSeed { kNone, kNotValidated, kValidated };

struct SafetyRecord {
  std::int64_t reactions = 0;  // so far
  // Those of the epochs that ended well are dropped, or are worked into the two numbers.
  std::vector<std::int64_t> skipped_steps, compared_steps;  // ascending; none is in both
  std::vector<FromStep> rate_cuts, splits;
  double rate = 1;   // on every learning rate, times those of the cuts
  double parts = 1;  // of each microbatch, if no split has more
  bool full_precision = false;
  std::int32_t searches = 0;       // in a row, since another reaction or an epoch after them that ended well
  std::int64_t search_until = 0;   // of the last one: steps before this one are looked at one by one
  std::int32_t failed_epochs = 0;  // in a row, that were undone
  // Of the reactions that failed an epoch, ascending: it counts from the step on, until an epoch after that ends well.
  std::vector<std::int64_t> failed_steps;

  // The validation losses of the last good epochs, the newest last, and what the governor makes of them
  // (safety/loss_watch.h).
  std::vector<double> losses;
  // How many of them, the oldest, are of the network with an active seed (alpha above 0) that was removed since.
  std::int32_t losses_before_removal = 0;
  std::int32_t suspect_epochs = 0;  // the last ones in a row
  std::int64_t good_step = 0;       // of the newest state that is not suspect

  bool operator==(const SafetyRecord&) const = default;

  // The run may not go back to its present state.
  bool is_suspect() const { return suspect_epochs > 0; }
  bool skips_step(std::int64_t step) const;
  bool compares_step(std::int64_t step) const;
  double rate_factor(std::int64_t step) const;
  std::int64_t parts_at(std::int64_t step) const;
  // Reactions to steps before this one, since an epoch that ended well.
  std::int64_t skips_before(std::int64_t step) const;
  std::int64_t comparisons_before(std::int64_t step) const;
  std::int64_t cuts_before(std::int64_t step) const;
  // Epochs in a row that were undone or given up before this step, since one that ended well.
  std::int64_t failures_before(std::int64_t step) const;

  // Adds a reaction that it does not have yet; others change nothing.
  void apply(const ReactionRecord& reaction);
  // All losses so far are of a network with an active seed that is removed now.
  void remove_active_seed() { losses_before_removal = static_cast<std::int32_t>(losses.size()); }
  // After an epoch that ended well, before `step`: what is past is dropped.
  void end_epoch(std::int64_t step);
};

nlohmann::json to_json(const SafetyRecord& record);
// Of nothing: an empty record. Throws nlohmann::json::exception for a field of another type, std::out_of_range for an
// invalid number or a list that no run makes.
SafetyRecord safety_record_from_json(const nlohmann::json& saved);

}  // namespace esper::tolaria
