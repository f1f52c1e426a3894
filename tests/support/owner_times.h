#pragma once
// What a ledger's owners have together: the law is that it is all the time that passed.

#include <chrono>
#include <numeric>

#include "base/ledger/owner.h"

namespace esper::test {

inline std::chrono::nanoseconds sum_of(const base::OwnerTimes& times) {
  return std::accumulate(times.begin(), times.end(), std::chrono::nanoseconds(0));
}

}  // namespace esper::test
