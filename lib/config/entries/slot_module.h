#pragma once
// A module that the host has from the start, as a configuration writes it. Any thread.

#include <string>
#include <string_view>

#include "base/expected.h"

namespace esper::config {

struct SlotModule {
  std::string slot, blueprint;

  // Of "r0c1=conv_heavy". Whether there are such a slot and such a blueprint is not looked at.
  static base::Expected<SlotModule> parse(std::string_view text);
};

}  // namespace esper::config
