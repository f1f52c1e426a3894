#pragma once
// What a run file tells of the host's slots and of the data, before either is there. Any thread.

#include <cstdint>
#include <optional>
#include <vector>

#include "config/run_config.h"
#include "leyline/blueprint_table.h"

namespace esper::config {

// Whether samples have channels, height and width, as far as the config tells.
bool image_shaped(const DataConfig& data);

struct Pixels {
  std::int64_t height = 0, width = 0;
};
// Of one image; nothing where the run file alone does not tell, or these are no images.
std::optional<Pixels> pixels_of(const DataConfig& data);

// Most channels of a cnn's block.
constexpr std::int64_t kMostChannels = 65536;

// Of the host's slots r0c0, r0c1 and on. Empty for a host that cannot grow.
std::vector<leyline::SlotShape> slot_shapes(const RunConfig& config);

// How many classes the data have, where the run file alone tells.
std::optional<std::int64_t> known_classes(const DataConfig& data);

}  // namespace esper::config
