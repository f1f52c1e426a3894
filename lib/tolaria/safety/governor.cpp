#include "tolaria/safety/governor.h"

#include <algorithm>

#include "base/error.h"

namespace esper::tolaria {

Reaction next_reaction(const SafetyRecord& record, const config::SafetyConfig& config) {
  if (record.skips < config.most_skipped_steps) return Reaction::kSkipStep;
  return record.cuts < config.most_rate_cuts ? Reaction::kLowerRate : Reaction::kStop;
}

SafetyRecord after_reaction(SafetyRecord record, Reaction reaction, std::int64_t step,
                            const config::SafetyConfig& config) {
  ESPER_CHECK(reaction != Reaction::kStop, "a run that stops has no further record");
  if (reaction == Reaction::kSkipStep) {
    record.skipped_steps.insert(std::ranges::upper_bound(record.skipped_steps, step), step);
    ++record.skips;
    return record;
  }
  record.rate_cuts.push_back({step, config.rate_cut});
  ++record.cuts;
  return record;
}

SafetyRecord after_epoch(SafetyRecord record, std::int64_t step) {
  std::erase_if(record.skipped_steps, [&](std::int64_t skipped) { return skipped < step; });
  const double factor = record.rate_factor(step);
  record.rate_cuts.clear();
  if (factor != 1) record.rate_cuts.push_back({0, factor});
  record.skips = record.cuts = 0;
  return record;
}

}  // namespace esper::tolaria
