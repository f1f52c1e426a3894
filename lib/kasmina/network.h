#pragma once
// The network that grows: a host, its slots, and the seeds in them. Training thread.
//
// A seed's stage acts on the forward only through four 0-dim tensors per seed (alpha, straight-through, isolation gate,
// training gate), so a change of stage changes no structure; germinate, cull and rebuild do.

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

// What commands change in a network; its tensors are there by reference.
struct NetworkStructure {
  std::vector<Slot> slots;  // parallel to the host's sites
  OwnershipRegistry ownership;
  std::uint32_t seeds_born = 0;
  std::deque<std::string> command_ids;  // of the last commands that were carried out, oldest first
};

class Network {
 public:
  // The modules that `host` lists are FOSSILIZED seeds from the start. host and growth were validated; throws
  // Error{kConfig} when a blueprint does not fit the features that come of this sample.
  Network(const config::HostConfig& host, const config::GrowthConfig& growth, const leyline::SampleShape& sample,
          std::uint64_t run_seed, torch::Device device);
  Network(const Network&) = delete;
  Network& operator=(const Network&) = delete;

  torch::Tensor forward(const torch::Tensor& inputs, Mode mode) const;
  // The same forward, and what it shows of each growing seed. Needs gradients on.
  SlotTaps tap(const torch::Tensor& inputs, Mode mode, torch::Tensor& output) const;

  // Evaluation of several configurations at once. A plan is good until the next command, epoch or restored topology.
  StackedPlan plan_stacked(std::span<const Configuration> configurations) const;
  // inputs: [B, ...]. Logits [plan.groups * B, ...], group by group; configuration c is group plan.group_of[c]. Without
  // gradients.
  torch::Tensor forward_stacked(const torch::Tensor& inputs, const StackedPlan& plan) const;

  // Changes whenever parameters or buffers come or go, or parameters change owner. Counts within this process only.
  std::uint64_t structure_version() const { return structure_version_; }
  std::vector<ParameterGroup> parameter_groups() const;
  std::vector<NamedTensor> buffers() const;
  // Per seed: "seed-0001.alpha", ".straight_through", ".isolation_gate", ".training_gate": 0-dim float32 on the device.
  std::vector<NamedTensor> scalars() const;
  const std::string& owner_of(const std::string& parameter_id) const {
    return structure_.ownership.owner_of(parameter_id);
  }

  // Applies one command between two epochs; every outcome, refusals included, is an event. A refused command changes
  // nothing. probe: a validation batch on which the largest output change of a graft, and the gradient's path into a
  // seed, are measured. now_ns: the wall clock; a command with a deadline is refused without it. Not for inference
  // mode. A lack of memory is a refusal as well. For a command that may have to be undone: kasmina/change.h.
  std::vector<LifecycleEvent> apply(const leyline::AdaptationCommand& command, const torch::Tensor& probe,
                                    std::uint64_t now_ns = 0);
  // How a seed would be folded into the host's layer after it, from the values that all parameters have now; nothing
  // where growth.fold_fossils is off or it cannot be folded.
  struct FoldPlan {
    std::string layer;  // its parameters are "<layer>.weight" and, if it has one, "<layer>.bias"
    SlotMap map;
  };
  std::optional<FoldPlan> fold_plan(const std::string& seed_id) const;
  // Whether stage and gate G5 would let the seed become a fossil now: a look at figures, no tensor is touched.
  bool may_fossilize(const std::string& seed_id) const;
  // What that layer would hold, by id; empty where there is no such plan.
  std::vector<NamedTensor> folded_layer(const std::string& seed_id) const;
  // Takes in an epoch's measurements, moves alpha and dwell times by one tick, culls what must go. Epochs ascend.
  std::vector<LifecycleEvent> end_epoch(const EpochFacts& facts);

  // Growing and fossilised seeds, in order of birth. Figures that were not measured are empty.
  std::vector<leyline::SeedState> export_seed_states() const;
  std::vector<leyline::SlotState> export_slots() const;
  // Growing seeds with an alpha above 0, in order of birth: what is turned off to see what the network loses.
  std::vector<std::string> active_seeds() const;
  // Seeds whose contribution this epoch's validation must measure (PROBATIONARY), and those to try at full alpha
  // (TRAINING, and SHADOWING below alpha 1; at alpha 1 the running network is the trial).
  std::vector<std::string> seeds_to_measure() const;
  std::vector<std::string> seeds_to_shadow() const;

  // Everything but tensor values: topology, stages, counters, histories. restore() of it on a network of the same
  // configuration makes the same structure; the caller then copies tensor values in by id. Seeds that the network
  // holds already keep their tensors. Throws Error{kCheckpoint} when it does not fit, and then changes nothing.
  nlohmann::json save_topology() const;
  void restore_topology(const nlohmann::json& saved);

 private:
  friend class AlphaOverride;
  friend class Change;
  using Events = std::vector<LifecycleEvent>;

  // A command under way.
  struct Order {
    const leyline::AdaptationCommand& command;
    const torch::Tensor& probe;
    TensorValues& overwritten;  // takes in the values of the host's parameters that the command overwrites
  };

  void build_in(const std::vector<config::Entry<config::SlotModule>>& modules);  // network_modules.cpp
  std::size_t index_of(const Slot& slot) const { return static_cast<std::size_t>(&slot - structure_.slots.data()); }
  void rebuild_ownership();

  // Nothing but an open change itself may alter the network.
  void require_no_change() const;

  // network_command.cpp
  Events apply_order(const Order& order, std::uint64_t now_ns);
  Events carry_out(const Order& order);
  struct Germination {
    Slot* slot = nullptr;
    const Blueprint* blueprint = nullptr;
    AlphaSchedule schedule;
  };
  // What GERMINATE names. Why it is refused; empty, and `out` filled in, if it is not.
  Events resolve(const leyline::AdaptationCommand& command, Germination& out);
  Events germinate(const leyline::AdaptationCommand& command, const torch::Tensor& probe);
  Events move_seed(const Order& order);
  Events advance(Slot& slot, leyline::Stage to, const Order& order);
  Events cancel(Slot& slot, const leyline::AdaptationCommand& command);
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

// While it lives, one seed's alpha has another value (evaluation only). Restores it exactly.
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
