#pragma once
// How a run goes on after steps and epochs that went wrong: plain data, which checkpoints keep, so that a resumed run
// does the same. Each reaction is also a record of the run's journal: a run that is killed before its next checkpoint
// goes on with it.

#include <array>
#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <utility>
#include <vector>

#include "base/file_system.h"

namespace esper::tolaria {

enum class Reaction {
  kSearch,         // up to where the failure was noticed the steps are trained again, with a look after each
  kCompareStep,    // the step is trained again, and what then runs compiled is compared with eager in it
  kSkipStep,       // the step's samples are passed over
  kSplitBatches,   // from the step on each microbatch is computed in smaller ones, with the same mean gradient
  kLowerRate,      // from the step on every learning rate is lower
  kFullPrecision,  // from where the run goes back to, it computes in fp32
  kStop,           // the run ends
};
// As the journal has them.
constexpr auto names(Reaction) {
  using R = Reaction;
  return std::array{std::pair{R::kSearch, "search"},
                    std::pair{R::kCompareStep, "compare_step"},
                    std::pair{R::kSkipStep, "skip_step"},
                    std::pair{R::kSplitBatches, "split_batches"},
                    std::pair{R::kLowerRate, "lower_rate"},
                    std::pair{R::kFullPrecision, "full_precision"},
                    std::pair{R::kStop, "stop"}};
}

// The other reactions keep the epoch, but for a batch that is passed over or computed in parts.
constexpr bool fails_epoch(Reaction reaction) {
  return reaction == Reaction::kLowerRate || reaction == Reaction::kFullPrecision;
}

// One reaction of a run, but kStop.
struct ReactionRecord {
  std::int64_t number = 0;  // from 1, in the order of the run's reactions
  Reaction reaction = Reaction::kSkipStep;
  std::int64_t step = 0;  // of the run, that it begins with
  double value = 0;  // kLowerRate: the factor; kSplitBatches: in how many parts; kSearch: before which step it ends
  std::int32_t in_a_row = 0;  // kSearch: its place among those in a row, from 1; 0: written by an earlier version
  bool operator==(const ReactionRecord&) const = default;
};

// From a step of the run on.
struct FromStep {
  std::int64_t step = 0;
  double value = 1;
  bool operator==(const FromStep&) const = default;
};

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
  // After an epoch that ended well, before `step`: what is past is dropped.
  void end_epoch(std::int64_t step);
};

nlohmann::json to_json(const SafetyRecord& record);
// Of nothing: an empty record. Throws nlohmann::json::exception for a field of another type, std::out_of_range for an
// invalid number or a list that no run makes.
SafetyRecord safety_record_from_json(const nlohmann::json& saved);

// The journal's record of a reaction, as a line of JSON.
std::string reaction_json(const ReactionRecord& reaction);
// The journal's record of a run that ended as diverged: whoever resumes it has changed something, so the reactions
// before it are of no concern.
std::string reactions_over_json();
// The reactions that a journal has from the newest file on that begins at or before `step`, in order; a record that
// makes no sense is passed over.
std::vector<ReactionRecord> read_reactions(base::FileSystem& files, const std::string& journal_path, std::int64_t step);

}  // namespace esper::tolaria
