#pragma once
// A germination at a stated time, as a configuration writes it. Any thread.

#include <string>
#include <string_view>

#include "base/expected.h"
#include "config/entries/epoch_mark.h"

namespace esper::config {

struct ScheduledGermination : EpochMark {
  std::string slot, blueprint;

  // Of "2:r0c2=conv_light" or "30%:r0c2=copy_block*3". Whether there are such a slot and such a blueprint is ignored.
  static base::Expected<ScheduledGermination> parse(std::string_view text);
};

}  // namespace esper::config
