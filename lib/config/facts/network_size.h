#pragma once
// How large the networks of a configuration are, counted without building them. Any thread.

#include <cstdint>
#include <optional>

#include "config/run_config.h"
#include "leyline/blueprint/sample_shape.h"

namespace esper::config {

struct NetworkSize {
  std::int64_t parameters = 0;  // numbers that can learn, frozen ones included
  std::int64_t buffers = 0;     // numbers that are kept but do not learn: statistics of batch norms
  // Numbers that the forward of one sample keeps for its backward, estimated from above.
  std::int64_t activations = 0;
};

// The host with host.modules, for these samples: parameters and buffers are exact. Nothing for an exported host, whose
// program alone knows.
std::optional<NetworkSize> host_size(const HostConfig& host, const leyline::SampleShape& sample);

// What growth can add at most: in each slot the largest module that may grow there. Zero where none grows.
NetworkSize most_growth(const RunConfig& config, const leyline::SampleShape& sample);

}  // namespace esper::config
