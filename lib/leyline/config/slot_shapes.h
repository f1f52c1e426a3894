#pragma once
// What a run file tells of the host's slots and of the data, before either is there. Any thread.

#include <cstdint>
#include <optional>
#include <vector>

#include "leyline/blueprint_table.h"
#include "leyline/config/run_config.h"

namespace esper::leyline {

// Whether samples have channels, height and width, as far as the config tells.
bool image_shaped(const DataConfig& data);

// Of the host's slots r0c0, r0c1 and on. Empty for a host that cannot grow.
std::vector<SlotShape> slot_shapes(const RunConfig& config);

// How many classes the data have, where the run file alone tells.
std::optional<std::int64_t> known_classes(const DataConfig& data);

}  // namespace esper::leyline
