#pragma once
// The total reward of a seed while it grows, from its receipt. Any thread.

#include "history/receipt/receipt.h"

namespace esper::simic {

// contribution_reward() of every epoch in which the contribution was measured, and their sum. Where there is none of
// them, or an accuracy that the formula needs is not recorded, `missing` says so.
history::SeedReward reward_of(const history::Receipt& receipt);

}  // namespace esper::simic
