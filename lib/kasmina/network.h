#pragma once
// A growing network: a host, its slots, and the seeds in them. Training thread.
//
// A seed's stage acts on the forward only through four 0-dim tensors per seed (alpha, straight-through, isolation gate,
// training gate), so a change of stage changes no structure; germinate, cull and rebuild do. A seed that trains in the
// shadow of the network is the exception: its second forward begins and ends with a stage.
//
// What only reads the network is a function of its state(): network/network_seeds.h and the other files of network/,
// and fold_plan(), may_fossilize(), may_germinate() above them.

#include <torch/types.h>

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "config/growth_config.h"
#include "config/host_config.h"
#include "kasmina/change.h"
#include "kasmina/host/host_weights.h"
#include "kasmina/network/network_state.h"
#include "kasmina/network_epoch.h"
#include "kasmina/seed/slot_tap.h"
#include "kasmina/slot/lifecycle_event.h"
#include "kasmina/tensor/mode.h"
#include "kasmina/tensor/parameter_group.h"
#include "leyline/blueprint/sample_shape.h"
#include "leyline/command.h"

namespace esper::kasmina {

// Owns the state; nothing else alters it.
class Network {
 public:
  // As build_network().
  Network(const config::HostConfig& host, const config::GrowthConfig& growth, const leyline::SampleShape& sample,
          std::uint64_t run_seed, torch::Device device);
  Network(const Network&) = delete;
  Network& operator=(const Network&) = delete;

  const NetworkState& state() const { return state_; }
  std::uint64_t structure_version() const { return state_.structure_version; }

  // As forward() and tap() of network_forward.h.
  torch::Tensor forward(const torch::Tensor& inputs, Mode mode) const;
  SlotTaps tap(const torch::Tensor& inputs, Mode mode, torch::Tensor& output) const;

  // As parameter_groups_of() and the others of network_tensors.h.
  std::vector<ParameterGroup> parameter_groups() const;
  std::vector<NamedTensor> buffers() const;
  std::vector<NamedTensor> scalars() const;

  // Applies one command between two epochs; every outcome, rejections included, is an event. A rejected command changes
  // nothing. probe: a validation batch on which the largest output change of a graft, and the gradient into a seed, are
  // measured. now_ns: the wall clock; without it a command with a deadline is rejected. Not for inference mode. Out of
  // memory is a rejection as well.
  std::vector<LifecycleEvent> apply(const leyline::AdaptationCommand& command, const torch::Tensor& probe,
                                    std::uint64_t now_ns = 0);
  // For commands that may have to be undone. It borrows the network, which has at most one open change: opening a
  // second one, or altering the network in any other way before this one is committed or rolled back, is a bug.
  Change open_change();
  // Before training: as take_weights() of host/host_weights.h.
  TakenWeights take_weights(const std::string& path);
  // As end_epoch() of network_epoch.h.
  EndedEpoch end_epoch(const EpochFacts& facts);

  // As save_topology() and restore_topology() of network_topology.h.
  nlohmann::json save_topology() const;
  void restore_topology(const nlohmann::json& saved);

 private:
  void require_no_change() const;

  NetworkState state_;
  bool is_changing_ = false;  // a Change is open
};

}  // namespace esper::kasmina
