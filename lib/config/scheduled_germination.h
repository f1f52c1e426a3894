#pragma once
// A germination at a stated time, as a configuration writes it. Any thread.

#include <string>
#include <string_view>

#include "base/expected.h"

namespace esper::config {

struct ScheduledGermination {
  static constexpr int kLastEpoch = 1'000'000;
  int epoch = 0;    // 1..kLastEpoch, or 0 where `percent` says when
  int percent = 0;  // 1..100 of the run's epochs, or 0
  std::string slot, blueprint;

  // Of "2:r0c2=conv_light" or "30%:r0c2=conv_light". Whether there are such a slot and such a blueprint is ignored.
  static base::Expected<ScheduledGermination> parse(std::string_view text);

  // It is germinated after this epoch of a run of so many: of a percentage, the first at which so many are done.
  int due_epoch(int epochs) const;
};

}  // namespace esper::config
