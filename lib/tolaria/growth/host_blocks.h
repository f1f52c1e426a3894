#pragma once
// What is known of the host without reading a tensor: its blocks, and what could grow behind them. Any thread.

#include <span>
#include <vector>

#include "config/host_config.h"
#include "kasmina/host/host.h"
#include "leyline/observation.h"

namespace esper::tolaria {

// parameters: of the host, in order of creation ("host.<block>.<name>"). Blocks are in that order too. sites: of an
// imported network, whose blocks are the modules that end at one, and else the outermost ones.
std::vector<leyline::BlockState> host_blocks(const config::HostConfig& host,
                                             std::span<const kasmina::NamedTensor> parameters,
                                             std::span<const kasmina::SlotSite> sites = {});

// Adds the kind of feature to each slot, and to each blueprint there the numbers that it would learn; those of a
// widening as between layers as wide as the feature. sites: of all of them.
void describe_slots(std::span<const kasmina::SlotSite> sites, std::vector<leyline::SlotState>& slots);

}  // namespace esper::tolaria
