#include "tolaria/safety/governor.h"

#include <algorithm>

namespace esper::tolaria {
namespace {

// If no search finds the step, the device is at fault, or results are not deterministic.
constexpr std::int32_t kMostSearches = 3;
// A program that agrees at each step that it spoilt before has results that are not deterministic.
constexpr std::int64_t kMostComparisons = 3;

bool may_search(const TrainingFailure& failure, const SafetyRecord& record, const config::SafetyConfig& config) {
  return failure.kind == FailureKind::kNonfiniteRange && config.may_react() && record.searches < kMostSearches;
}

bool may_compare(const TrainingFailure& failure, const SafetyRecord& record, const ReactionLimits& limits) {
  return failure.kind == FailureKind::kNonfiniteStep && failure.ran_compiled && !failure.is_of_data &&
         limits.config.may_react() && record.comparisons_before(limits.epoch_end) < kMostComparisons;
}

Reaction reaction_to(const TrainingFailure& failure, const SafetyRecord& record, const ReactionLimits& limits) {
  const auto& [config, microbatch, computes_in_fp32, epoch_end] = limits;
  const std::int64_t end = failure.kind == FailureKind::kBadEpoch ? failure.step + 1 : epoch_end;
  if (failure.kind == FailureKind::kOutOfMemory) {
    return record.parts_at(failure.step) < microbatch ? Reaction::kSplitBatches : Reaction::kStop;
  }
  if (may_search(failure, record, config)) return Reaction::kSearch;
  if (may_compare(failure, record, limits)) return Reaction::kCompareStep;
  if (failure.kind == FailureKind::kNonfiniteStep && record.skips_before(end) < config.most_skipped_steps)
    return Reaction::kSkipStep;
  if (record.cuts_before(end) < config.most_rate_cuts) return Reaction::kLowerRate;
  const bool may_react = config.most_rate_cuts > 0;
  return may_react && !computes_in_fp32 && !record.full_precision ? Reaction::kFullPrecision : Reaction::kStop;
}

}  // namespace

bool suspects_program(const TrainingFailure& failure, const SafetyRecord& record, const ReactionLimits& limits) {
  const bool searches = failure.ran_compiled && may_search(failure, record, limits.config);
  return searches || may_compare(failure, record, limits);
}

ReactionRecord next_reaction(const TrainingFailure& failure, const SafetyRecord& record, const ReactionLimits& limits) {
  ReactionRecord next{record.reactions + 1, reaction_to(failure, record, limits), failure.step, 0};
  if (next.reaction == Reaction::kLowerRate) next.value = limits.config.rate_cut;
  if (next.reaction == Reaction::kSplitBatches) {
    next.value = static_cast<double>(std::min(2 * record.parts_at(failure.step), limits.microbatch));
  }
  if (next.reaction == Reaction::kSearch) {
    next.value = static_cast<double>(failure.end_step);
    next.in_a_row = record.searches + 1;
  }
  return next;
}

bool needs_checkpoint(const TrainingFailure& failure, const ReactionRecord& reaction) {
  return failure.kind == FailureKind::kOutOfMemory || failure.kind == FailureKind::kBadEpoch ||
         reaction.reaction == Reaction::kFullPrecision;
}

}  // namespace esper::tolaria
