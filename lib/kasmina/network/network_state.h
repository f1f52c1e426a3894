#pragma once
// A growing network as plain data. The files of this folder build, read, save and restore it; those of fold/ and
// command/, and the epoch's end, alter it. Network (kasmina/network.h) owns it and says when. Training thread.

#include <torch/types.h>

#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <vector>

#include "config/growth_config.h"
#include "config/host_config.h"
#include "kasmina/host/host.h"
#include "kasmina/slot/slot.h"
#include "kasmina/tensor/ownership.h"
#include "leyline/blueprint/sample_shape.h"

namespace esper::kasmina {

// The part of a network that commands change; tensors are held by reference.
struct NetworkStructure {
  std::vector<Slot> slots;  // parallel to the host's sites
  OwnershipRegistry ownership;
  std::uint32_t seeds_born = 0;
  std::deque<std::string> command_ids;  // of the last executed commands, oldest first
};

// Which of the host's parameters do not learn (host.freeze), and until the end of which epoch; 0: for good.
struct FrozenPart {
  std::vector<std::string> patterns;
  std::uint32_t until_epoch = 0;
};

struct NetworkState {
  Host host;
  config::GrowthConfig growth;
  std::uint64_t run_seed = 0;
  torch::Device device;
  FrozenPart frozen = {};
  std::vector<SlotRules> rules = {};  // parallel to host.sites
  NetworkStructure structure = {};
  // Changes whenever parameters or buffers are added or removed, parameters change owner, or a seed begins or ends to
  // train in the shadow of the network. Counts within this process only.
  std::uint64_t structure_version = 1;
  std::uint32_t epoch = 0;              // the last one that ended
  std::optional<double> accuracy = {};  // running validation accuracy of that epoch
};

// The modules that `host` lists are FOSSILIZED seeds from the start. host and growth must be validated; throws
// Error{kConfig} if a blueprint does not fit the features of this sample.
NetworkState build_network(const config::HostConfig& host, const config::GrowthConfig& growth,
                           const leyline::SampleShape& sample, std::uint64_t run_seed, torch::Device device);

// The index of one of the network's own slots.
std::size_t index_of(const NetworkState& network, const Slot& slot);

}  // namespace esper::kasmina
