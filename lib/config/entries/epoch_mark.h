#pragma once
// A point of a run, as a configuration writes it: after an epoch, or after a percentage of the run's epochs. Any
// thread.

#include <string_view>

#include "base/expected.h"

namespace esper::config {

struct EpochMark {
  static constexpr int kLastEpoch = 1'000'000;
  int epoch = 0;    // 1..kLastEpoch, or 0 where `percent` says when
  int percent = 0;  // 1..100 of the run's epochs, or 0

  // Of "2" or "30%".
  static base::Expected<EpochMark> parse(std::string_view text);

  // The epoch of a run of so many after which it is due: of a percentage, the first at which so many are done.
  int due_epoch(int epochs) const;
};

}  // namespace esper::config
