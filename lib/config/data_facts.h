#pragma once
// What a run file tells of the data before they are there. Any thread.

#include <cstdint>
#include <optional>

#include "config/data_config.h"
#include "leyline/sample_shape.h"

namespace esper::config {

// Whether samples have channels, height and width, as far as the config tells.
bool image_shaped(const DataConfig& data);

struct Pixels {
  std::int64_t height = 0, width = 0;
};
// Of one image; nothing where the run file alone does not tell, or these are no images.
std::optional<Pixels> pixels_of(const DataConfig& data);

// As far as slots need it (config/slot_geometry.h); height and width are 0 where they are not known.
leyline::SampleShape known_sample(const DataConfig& data);

// How many classes the data have, where the run file alone tells.
std::optional<std::int64_t> known_classes(const DataConfig& data);

}  // namespace esper::config
