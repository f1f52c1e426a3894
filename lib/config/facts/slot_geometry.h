#pragma once
// Where the slots of a host are, and what the feature at each looks like: computed here, for run files that are checked
// and for networks that are built. Any thread.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "config/host_config.h"
#include "leyline/blueprint/feature_shape.h"
#include "leyline/blueprint/sample_shape.h"

namespace esper::config {

struct SlotGeometry {
  std::string id;
  leyline::FeatureShape shape;
  std::string path = {};  // of an imported network's module that ends there, "layer3.0"; empty: of any other host
};

// In the order in which the network runs through them; none for a host that cannot grow. Of the sample: kCnn takes
// height and width (0 where they are not known yet, or nothing is left after so many poolings), kTransformer the
// context. `named`: growth.slots, which chooses an imported network's slots; its description is read from host.path,
// and there are none where it cannot be.
std::vector<SlotGeometry> slot_geometry(const HostConfig& host, const leyline::SampleShape& sample,
                                        const std::vector<std::string>& named = {});

// Whether growth.slots lets modules grow there. An imported network has only slots that it names.
bool may_grow_at(const std::vector<std::string>& named, std::string_view slot);

// Of a cnn's block: each has twice the channels of the one before.
constexpr std::int64_t kMostChannels = 65536;
constexpr std::int64_t block_channels(const HostConfig& host, std::int64_t block) {
  return host.base_channels << block;
}

}  // namespace esper::config
