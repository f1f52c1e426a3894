#pragma once
// What is known of the host without reading a tensor: its blocks, and what could grow behind them. Any thread.

#include <span>
#include <vector>

#include "config/host_config.h"
#include "kasmina/tensor/tensor_table.h"
#include "leyline/observation.h"

namespace esper::tolaria {

// parameters: of the host, in order of creation ("host.<block>.<name>"). Blocks are in that order too.
std::vector<leyline::BlockState> host_blocks(const config::HostConfig& host,
                                             std::span<const kasmina::NamedTensor> parameters);

// Adds the kind of feature to each slot, and to each blueprint there the numbers that it would learn; those of a
// widening as between layers as wide as the feature.
void describe_slots(const config::HostConfig& host, std::vector<leyline::SlotState>& slots);

}  // namespace esper::tolaria
