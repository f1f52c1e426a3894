#pragma once
// What the Python text of a network is written from. Training thread.

#include "config/host_config.h"
#include "kasmina/network/network_state.h"
#include "leyline/blueprint/sample_shape.h"

namespace esper::porting {

// What a network is and what it was built from.
struct NetworkSource {
  const kasmina::NetworkState& network;
  const config::HostConfig& host;
  const leyline::SampleShape& sample;
  bool has_standardised_targets = false;  // it learned these; the class answers in the data's units
};

}  // namespace esper::porting
