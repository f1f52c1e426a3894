#pragma once
// Properties of the data that follow from the run file alone. Any thread.

#include <cstdint>
#include <optional>

#include "config/data_config.h"
#include "config/task.h"
#include "leyline/blueprint/sample_shape.h"

namespace esper::config {

// Whether the run file names test data: a path, or a fraction that is split off.
bool names_test_part(const DataConfig& data);

// Whether a path of this kind is one part; those of the others may hold a test part beside the training part.
bool is_one_part(DataKind kind);

// Whether samples are sequences of tokens, and each target the next one.
bool has_tokens(const DataConfig& data, Task task);

// Whether samples have channels, height and width, as far as the config shows.
bool image_shaped(const DataConfig& data);

struct Pixels {
  std::int64_t height = 0, width = 0;
};
// Of one image; nullopt if the run file alone does not show it, or these are not images.
std::optional<Pixels> pixels_of(const DataConfig& data);

// As far as slots need it (config/facts/slot_geometry.h); height and width are 0 where they are not known.
leyline::SampleShape known_sample(const DataConfig& data);

// How many classes the data have, where the run file alone shows.
std::optional<std::int64_t> known_classes(const DataConfig& data);

}  // namespace esper::config
