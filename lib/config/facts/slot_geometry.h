#pragma once
// Where the slots of a host are, and what the feature at each looks like: computed here, for run files that are checked
// and for networks that are built. Any thread.

#include <cstdint>
#include <string>
#include <vector>

#include "config/host_config.h"
#include "leyline/feature_shape.h"
#include "leyline/sample_shape.h"

namespace esper::config {

struct SlotGeometry {
  std::string id;
  leyline::FeatureShape shape;
};

// In the order in which the network runs through them; none for a host that cannot grow. Of the sample: kCnn takes
// height and width (0 where they are not known yet, or nothing is left after so many poolings), kTransformer the
// context.
std::vector<SlotGeometry> slot_geometry(const HostConfig& host, const leyline::SampleShape& sample);

// Of a cnn's block: each has twice the channels of the one before.
constexpr std::int64_t kMostChannels = 65536;
constexpr std::int64_t block_channels(const HostConfig& host, std::int64_t block) {
  return host.base_channels << block;
}

}  // namespace esper::config
