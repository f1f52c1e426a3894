#pragma once
// A growing network: a host, its slots, and the seeds in them. Training thread.
//
// A seed's stage acts on the forward only through four 0-dim tensors per seed (alpha, straight-through, isolation gate,
// training gate), so a change of stage changes no structure; germinate, cull and rebuild do. A seed that trains in the
// shadow of the network is the exception: its second forward begins and ends with a stage.

#include <torch/types.h>

#include <cstdint>
#include <deque>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/expected.h"
#include "config/growth_config.h"
#include "kasmina/epoch_facts.h"
#include "kasmina/fold.h"
#include "kasmina/host.h"
#include "kasmina/lifecycle_event.h"
#include "kasmina/ownership.h"
#include "kasmina/parameter_group.h"
#include "kasmina/seed.h"
#include "kasmina/slot.h"
#include "kasmina/stacked.h"
#include "leyline/command.h"
#include "leyline/observation.h"

namespace esper::kasmina {

// The part of a network that commands change; tensors are held by reference.
struct NetworkStructure {
  std::vector<Slot> slots;  // parallel to the host's sites
  OwnershipRegistry ownership;
  std::uint32_t seeds_born = 0;
  std::deque<std::string> command_ids;  // of the last executed commands, oldest first
};

class Network {
 public:
  // The modules that `host` lists are FOSSILIZED seeds from the start. host and growth must be validated; throws
  // Error{kConfig} if a blueprint does not fit the features of this sample.
  Network(const config::HostConfig& host, const config::GrowthConfig& growth, const leyline::SampleShape& sample,
          std::uint64_t run_seed, torch::Device device);
  Network(const Network&) = delete;
  Network& operator=(const Network&) = delete;

  torch::Tensor forward(const torch::Tensor& inputs, Mode mode) const;
  // The same forward, with the taps of each growing seed. Requires gradients enabled.
  SlotTaps tap(const torch::Tensor& inputs, Mode mode, torch::Tensor& output) const;
  // The second forward, which trains a seed in the shadow of the network: the logits with that seed at alpha 1 and
  // everything else as it trains, but without dropout. `feature`: what its slot receives in the first one, which leaves
  // the seed out. The gradient is meant for the seed's parameters alone; of all buffers only the seed's own change, and
  // no random number is drawn, so that the host trains as it would without the seed.
  torch::Tensor shadow(std::size_t slot, const torch::Tensor& feature) const;

  // Evaluation of several configurations at once. A plan is valid until the next command, epoch or restored topology.
  StackedPlan plan_stacked(std::span<const Configuration> configurations) const;
  // inputs: [B, ...]. Returns logits [plan.groups * B, ...], group by group; configuration c is group plan.group_of[c].
  // Without gradients.
  torch::Tensor forward_stacked(const torch::Tensor& inputs, const StackedPlan& plan) const;

  // Changes whenever parameters or buffers are added or removed, parameters change owner, or a seed begins or ends to
  // train in the shadow of the network. Counts within this process only.
  std::uint64_t structure_version() const { return structure_version_; }
  std::vector<ParameterGroup> parameter_groups() const;
  std::vector<NamedTensor> buffers() const;
  // Per seed: "seed-0001.alpha", ".straight_through", ".isolation_gate", ".training_gate": 0-dim float32 on the device.
  std::vector<NamedTensor> scalars() const;
  const std::string& owner_of(const std::string& parameter_id) const {
    return structure_.ownership.owner_of(parameter_id);
  }

  // Applies one command between two epochs; every outcome, rejections included, is an event. A rejected command changes
  // nothing. probe: a validation batch on which the largest output change of a graft, and the gradient into a seed, are
  // measured. now_ns: the wall clock; without it a command with a deadline is rejected. Not for inference mode. Out of
  // memory is a rejection as well. For a command that may have to be undone: kasmina/change.h.
  std::vector<LifecycleEvent> apply(const leyline::AdaptationCommand& command, const torch::Tensor& probe,
                                    std::uint64_t now_ns = 0);
  // True if the command is a GERMINATE that nothing but gate G0 could still reject. now_ns: as apply().
  bool may_germinate(const leyline::AdaptationCommand& command, std::uint64_t now_ns = 0);
  // How a seed would be folded into the host's next layer, from the present values of all parameters; empty if
  // growth.fold_fossils is off or it cannot be folded.
  struct FoldPlan {
    std::string layer;  // its parameters are "<layer>.weight" and, if it has one, "<layer>.bias"
    SlotMap map;
  };
  std::optional<FoldPlan> fold_plan(const std::string& seed_id) const;
  // True if the stage and gate G5 would let the seed fossilise now. Reads measurements only, no tensors.
  bool may_fossilize(const std::string& seed_id) const;
  // The values that layer would hold, by id; empty if there is no such plan.
  std::vector<NamedTensor> folded_layer(const std::string& seed_id) const;
  // The two weights whose columns a widening that still grows shares: the host's layer's and its own. They are parted
  // when it fossilises (kasmina/widening.h). Empty for any other seed.
  struct SharedColumns {
    std::string host, seed;
  };
  std::optional<SharedColumns> shared_columns(const std::string& seed_id) const;
  // Applies an epoch's measurements, advances alpha and dwell times by one tick, and culls seeds that must go. Epochs
  // must ascend.
  std::vector<LifecycleEvent> end_epoch(const EpochFacts& facts);

  // Growing and fossilised seeds, in order of birth. Values that were not measured are empty.
  std::vector<leyline::SeedState> export_seed_states() const;
  std::vector<leyline::SlotState> export_slots() const;
  // Growing seeds with an alpha above 0, in order of birth: the seeds that are turned off to measure their
  // contribution.
  std::vector<std::string> active_seeds() const;
  // Seeds whose contribution this epoch's validation must measure (PROBATIONARY), and those to evaluate at full alpha
  // (TRAINING, and SHADOWING below alpha 1; at alpha 1 the running network is that evaluation).
  std::vector<std::string> seeds_to_measure() const;
  std::vector<std::string> seeds_to_shadow() const;

  // Everything except tensor values: topology, stages, counters, histories. restore_topology() of it on a network of
  // the same configuration creates the same structure; the caller then copies tensor values in by id. Seeds that the
  // network already holds keep their tensors. Throws Error{kCheckpoint}, without any change, if it does not fit.
  nlohmann::json save_topology() const;
  void restore_topology(const nlohmann::json& saved);

 private:
  friend class AlphaOverride;
  friend class Change;
  using Events = std::vector<LifecycleEvent>;

  // A command in progress.
  struct Order {
    const leyline::AdaptationCommand& command;
    const torch::Tensor& probe;
    TensorValues& overwritten;  // receives the host's values that the command overwrites
  };

  void build_in(const std::vector<config::Entry<config::SlotModule>>& modules);  // network_modules.cpp
  std::size_t index_of(const Slot& slot) const { return static_cast<std::size_t>(&slot - structure_.slots.data()); }
  void rebuild_ownership();

  // Checks that only an open change itself alters the network.
  void require_no_change() const;

  // network_command.cpp
  bool is_known(const leyline::AdaptationCommand& command) const;
  Events apply_order(const Order& order, std::uint64_t now_ns);
  Events carry_out(const Order& order);
  struct Germination {
    Slot* slot = nullptr;
    SeedKind kind;
    AlphaSchedule schedule;
  };
  // Resolves what GERMINATE names. Returns why it is rejected; empty, with `out` set, if it is not.
  Events resolve(const leyline::AdaptationCommand& command, Germination& out);
  Events germinate(const leyline::AdaptationCommand& command, const torch::Tensor& probe);
  Events move_seed(const Order& order);
  Events advance(Slot& slot, leyline::Stage to, const Order& order);
  Events cancel(Slot& slot, const leyline::AdaptationCommand& command);
  Events keep(Slot& slot, const leyline::AdaptationCommand& command);
  void enter(Slot& slot, leyline::Stage to);
  Verdict judge(const Slot& slot, leyline::Stage to, const torch::Tensor& probe);

  // network_fold.cpp
  struct Fold {
    TensorValues before, after;  // of the host's parameters
    LifecycleEvent event;
  };
  std::optional<Fold> try_fold(const Slot& slot, const torch::Tensor& probe);
  LifecycleEvent carry_out(const Fold& fold, Slot& slot, const Order& order);
  base::Expected<FoldPlan> plan_of(const Slot& slot) const;
  double fold_change(const Slot& slot, const Fold& fold, const torch::Tensor& probe) const;

  // network_widening.cpp
  // The host's weight before and after a widening becomes part of it; empty for another seed. Changes nothing.
  struct Parting {
    TensorValues before, after;
  };
  std::optional<Parting> parting_of(const Slot& slot) const;
  base::Expected<void> check_inlet(const Slot& slot, const Blueprint& blueprint) const;

  // network_shadow.cpp
  SlotTap tap_shadow(std::size_t slot, const torch::Tensor& feature) const;

  // network_probe.cpp
  GraftEvidence measure_graft(std::size_t slot, const Seed& seed, const torch::Tensor& probe) const;
  GradientEvidence measure_gradient(const Slot& slot, const torch::Tensor& probe);

  // network_epoch.cpp
  Events cull(Slot& slot, const std::string& reason, const std::string& command_id);
  Events close_epoch(Slot& slot, const EpochFacts& facts, bool is_broken);
  std::int64_t num_host_parameters() const;

  Host host_;
  config::GrowthConfig growth_;
  std::uint64_t run_seed_;
  torch::Device device_;
  std::vector<SlotRules> rules_;  // parallel to host_.sites
  NetworkStructure structure_;
  std::uint64_t structure_version_ = 1;
  std::uint32_t epoch_ = 0;
  std::optional<double> accuracy_;  // running validation accuracy of the last epoch
  bool is_changing_ = false;        // a Change is open
};

// Sets one seed's alpha to another value while it lives (evaluation only). Restores it exactly.
class AlphaOverride {
 public:
  AlphaOverride(Network& network, const std::string& seed_id, double alpha);
  ~AlphaOverride();
  AlphaOverride(const AlphaOverride&) = delete;
  AlphaOverride& operator=(const AlphaOverride&) = delete;

 private:
  torch::Tensor alpha_, saved_;
};

}  // namespace esper::kasmina
