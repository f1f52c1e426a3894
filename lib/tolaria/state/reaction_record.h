#pragma once
// What a run did about a step or an epoch that went wrong, as its journal has it: a run that is killed before its next
// checkpoint goes on with it.

#include <array>
#include <cstdint>
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

// Which numbers a run may have, for those that are read from files.
inline constexpr std::int64_t kMostCount = 1'000'000'000'000'000;  // of steps and of reactions
inline constexpr double kLeastRate = 1e-300;                       // a rate that was cut again and again stays above 0
constexpr bool is_rate(double factor) { return factor >= kLeastRate && factor <= 1; }
constexpr bool is_parts(double parts) { return parts >= 1 && parts <= 1 << 20; }

// The journal's record of a reaction, as a line of JSON.
std::string reaction_json(const ReactionRecord& reaction);
// The journal's record of a run that ended as diverged: whoever resumes it has changed something, so the reactions
// before it are of no concern.
std::string reactions_over_json();
// The reactions that a journal has from the newest file on that begins at or before `step`, in order; a record that
// makes no sense is passed over.
std::vector<ReactionRecord> read_reactions(base::FileSystem& files, const std::string& journal_path, std::int64_t step);

}  // namespace esper::tolaria
