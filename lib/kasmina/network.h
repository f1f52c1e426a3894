#pragma once
// The network that grows: a host, its slots, and the seeds in them. Training thread only.
//
// A seed's stage acts on the forward only through four 0-dim tensors per seed (alpha, straight-through, isolation gate,
// training gate), so a change of stage changes no structure; germinate, cull and rebuild do.

#include <torch/types.h>

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "kasmina/host.h"
#include "kasmina/parameter_group.h"
#include "kasmina/seed.h"
#include "kasmina/slot.h"
#include "leyline/command.h"
#include "leyline/config/growth_config.h"
#include "leyline/observation.h"

namespace esper::kasmina {

// What one epoch showed about one seed; fields that were not measured stay empty.
struct SeedFacts {
  std::string seed_id;
  double gradient_norm = 0;                      // mean over the epoch's steps, L2 over the seed's parameters
  std::optional<double> accuracy_without;        // validation accuracy with the seed's alpha at 0
  std::optional<double> accuracy_at_full_alpha;  // validation accuracy with the seed's alpha at 1
};

struct EpochFacts {
  std::uint32_t epoch = 0;                              // epochs completed, this one included
  double validation_loss = 0, validation_accuracy = 0;  // accuracy 0..1
  double host_gradient_norm = 0;
  double learning_rate = 0;
  std::vector<SeedFacts> seeds;
};

// Something that happened to a seed, ready to be told: a stage change, a gate's verdict, a graft, a refusal.
struct LifecycleEvent {
  enum class Kind { kStage, kGate, kGraft, kCull, kCommandRejected } kind = Kind::kStage;
  std::string seed_id, slot, blueprint;
  leyline::Stage from = leyline::Stage::kUnknown, to = leyline::Stage::kUnknown;
  std::string reason;                                  // in words, with measured values and thresholds
  std::vector<std::pair<std::string, double>> values;  // measured values by name
  std::string command_id;
};

class Network {
 public:
  Network(const leyline::HostConfig& host, const leyline::GrowthConfig& growth, const leyline::SampleShape& sample,
          std::uint64_t run_seed, torch::Device device);

  torch::Tensor forward(const torch::Tensor& inputs, Mode mode);

  // Changes whenever parameters or buffers come or go.
  std::uint64_t structure_version() const;
  std::vector<ParameterGroup> parameter_groups() const;
  std::vector<NamedTensor> buffers() const;
  // Per seed: "seed-0001.alpha", ".straight_through", ".isolation_gate", ".training_gate": 0-dim float32 on the device.
  std::vector<NamedTensor> scalars() const;
  const std::string& owner_of(const std::string& parameter_id) const;

  // Applies one command; every outcome, refusals included, is an event. A refused command changes nothing.
  // probe: a validation batch on which the largest output change of a graft is measured.
  std::vector<LifecycleEvent> apply(const leyline::AdaptationCommand& command, const torch::Tensor& probe);
  // Takes in an epoch's measurements, moves alpha and dwell times by one tick, culls what must go.
  std::vector<LifecycleEvent> end_epoch(const EpochFacts& facts);

  std::vector<leyline::SeedState> export_seed_states() const;
  std::vector<leyline::SlotState> export_slots() const;
  // Seeds whose contribution this epoch's validation should measure, and those that SHADOWING tries at full alpha.
  std::vector<std::string> seeds_to_measure() const;
  std::vector<std::string> seeds_to_shadow() const;
  // [num_microbatches, num_seeds], rows sum to one: which share of a microbatch's gradient each seed answers for.
  // Uniform.
  torch::Tensor attribute_batch(std::int64_t num_microbatches) const;

  // Everything but tensor values: topology, stages, counters, histories. restore() of it on a fresh network of the same
  // configuration makes the same structure; the caller then copies tensor values in by id.
  nlohmann::json save_topology() const;
  void restore_topology(const nlohmann::json& saved);

 private:
  friend class AlphaOverride;
  Host host_;
  leyline::GrowthConfig growth_;
  std::uint64_t run_seed_;
  torch::Device device_;
  std::vector<Slot> slots_;  // parallel to host_.sites
  std::uint64_t structure_version_ = 1;
  std::uint32_t seeds_born_ = 0;
  std::uint32_t epoch_ = 0;
};

// While it lives, one seed's alpha has another value (validation only). Restores it exactly.
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
