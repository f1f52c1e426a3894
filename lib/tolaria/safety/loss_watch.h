#pragma once
// Whether a validation loss is one to go on from, by the losses of the epochs before. The rules are those of reference
// 5.2: a loss is suspect above 12, three times the mean and six standard deviations above it, of a window of 20 good
// epochs with at least 10; three suspect epochs in a row are a divergence. A classifier collapses where it was clearly
// better than guessing (below 0.6 ln C on average over the window) and is now within 6.5 % of it; unlike in the
// reference, its score must be low, too: below the middle between 1/C and 1. A network that overfits passes that loss
// with a good score. Without an active seed (alpha above 0) that it had, a network may well be back at guessing: a
// collapse is judged by the losses since the removal alone, with at least 10 of them. Pure; any thread.

#include <cstdint>
#include <string>

#include "tolaria/state/safety_record.h"

namespace esper::tolaria {

// A finite validation loss counts as exploded above both limits.
inline constexpr double kLossBound = 12.0;
inline constexpr double kLossRatio = 3.0;

struct LossVerdict {
  enum class Kind { kGood, kSuspect, kBad } kind = Kind::kGood;
  double mean = 0, deviation = 0;  // of the window
  std::string reason;              // unless kGood
};

// What an epoch's validation showed.
struct EpochLoss {
  double loss = 0;               // finite
  double score = 0;              // 0..1
  std::int64_t num_classes = 0;  // 0: the task has none
  bool lost_seed = false;        // validated without an active seed that the network had in the epochs before
};

LossVerdict judge_loss(const EpochLoss& epoch, const SafetyRecord& record);

// After an epoch that did not fail, before `step`.
void record_verdict(SafetyRecord& record, const LossVerdict& verdict, double loss, std::int64_t step);

}  // namespace esper::tolaria
