#pragma once
// One grown module: its tensors, the four scalars through which its stage acts, and its measurements. Training thread.

#include <torch/types.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "config/growth_config.h"
#include "kasmina/blueprint/blueprint.h"
#include "kasmina/seed/alpha.h"
#include "kasmina/seed/composition.h"
#include "kasmina/seed/slot_tap.h"
#include "kasmina/seed/stacked.h"
#include "leyline/seed.h"

namespace esper::kasmina {

// 0-dim float32 on the device. They live as long as the seed and are only written in place.
struct SeedScalars {
  torch::Tensor alpha;             // share of the seed in the output, 0..1
  torch::Tensor straight_through;  // 1: the seed learns although alpha is 0
  torch::Tensor isolation_gate;    // 0: no gradient through the seed's input into the host
  torch::Tensor training_gate;     // 0: no gradient into the seed, neither its parameters nor its input
};

struct ScalarValues {
  double alpha = 0, straight_through = 0, isolation_gate = 0, training_gate = 0;
};

// The values of a seed's four scalars, by its stage and by a blend-out in progress:
//
//   stage         alpha       straight  isolation  training
//   GERMINATED    0           0         closed     0
//   TRAINING      controller  1 **      closed *   1
//   BLENDING      controller  0         closed *   1
//   SHADOWING     controller  0         closed *   1
//   PROBATIONARY  1           0         open       1
//   FOSSILIZED    1           0         open       1
//   any, DOWN     controller  0         closed     0
//
// In TRAINING the controller is at 0 for straight_through and rises for blended. ** 0 for blended: its gradient is that
// of the running network at the seed's own alpha. Straight-through takes the gradient at the host's output instead,
// where alpha is 0: it follows the loss linearised there, and overshoots.
// Shadow: alpha, straight-through and isolation are 0 in TRAINING, whatever growth.isolate says. Forwards that train
// leave the seed out, and a second one at alpha 1 trains it (Network::shadow).
// Closed is open when growth.isolate is off. * Blending: open for compositions whose path along the host's feature
// fades with alpha (see fades()): with both closed the blocks before the slot would stop learning.
struct SeedMode {
  leyline::Stage stage;
  config::SeedTraining training;
  const AlphaController& alpha;
};
ScalarValues scalar_values(const SeedMode& mode, const config::GrowthConfig& growth);
void write_scalars(const SeedScalars& scalars, const ScalarValues& values);

// What a counterfactual measurement adds to accuracy_without, in points; fields that were not measured stay empty.
// half_width: of the 95 % interval.
// Definitions: tolaria/evaluation/shapley.h.
struct SeedValue {
  std::optional<double> contribution_stderr_points, contribution_half_width_points;
  std::optional<double> shapley_points, shapley_stderr_points, shapley_half_width_points;
};

// Measurements of the epochs; an empty field was not measured in the last epoch (gradient_ratio: ever). Accuracies
// 0..1.
struct SeedRecord {
  std::uint32_t age_epochs = 0;  // since germination
  std::optional<double> accuracy_at_stage_start, accuracy, accuracy_without, accuracy_at_full_alpha;
  SeedValue seed_value;
  leyline::SeedWorth worth;              // as last measured
  std::optional<double> gradient_ratio;  // smoothed, since TRAINING began
  double gradient_norm = 0, learning_rate = 0;
  double isolation_violations = 0;  // of the last epoch

  // The better of running accuracy and accuracy at full alpha, minus the running accuracy when the stage began. While
  // its alpha is 0 the running accuracy is the host's alone; full alpha measures the seed itself. The host's progress
  // counts too: it is no measure of worth (leyline/seed_worth.h).
  std::optional<double> improvement_points() const;
  std::optional<double> shadow_points() const;        // accuracy at full alpha minus running accuracy
  std::optional<double> contribution_points() const;  // running accuracy minus accuracy without the seed
};

struct Seed {
  std::string id;            // "seed-0001"
  std::uint32_t number = 0;  // 1 for the first one born in the run
  SeedKind kind;
  FeatureShape shape;
  config::Composition composition = config::Composition::kAdd;
  config::SeedTraining training = config::SeedTraining::kBlended;
  std::uint32_t training_epoch = 0;      // epochs of the run that were complete when its training began
  SeedModule module;                     // its table includes the composition's gate
  torch::Tensor gate_weight, gate_bias;  // GATE; CHANNEL has the weight only
  AlphaSchedule schedule;
  AlphaController alpha;
  SeedScalars scalars;
  SeedRecord record;
  // A fossil that is folded into the host's next layer: it has no tensors left, scalars included, and returns its
  // feature unchanged.
  bool folded = false;
  // A widening that is a fossil: its units are the host's own, and what they share with others is parted (widening.h).
  bool in_host = false;
};

// "seed-0001"
std::string seed_name(std::uint32_t number);

struct SeedOrigin {
  std::uint32_t number = 1;
  SeedKind kind;
  const SlotSite& site;
  AlphaSchedule schedule;
};
// A new seed with the scalars of GERMINATED; its values depend only on the run's seed and its id, as build_seed() says.
// The gate of GATE starts at 0.5, that of CHANNEL at 1.
Seed make_seed(const SeedOrigin& origin, const config::GrowthConfig& growth, std::uint64_t run_seed,
               torch::Device device);

// The values of its scalars in a stage, with its own alpha.
ScalarValues scalar_values(const Seed& seed, leyline::Stage stage, const config::GrowthConfig& growth);
// Its alpha once it enters that stage. The first tick of a blend is applied at once: at alpha 0 without
// straight-through the seed would learn nothing in the next epoch.
AlphaController alpha_on_entry(const Seed& seed, leyline::Stage to);

// Turns it into a folded seed.
void drop_tensors(Seed& seed);

// The slot's output for `feature`, the output of the host's block.
torch::Tensor apply_seed(const Seed& seed, const torch::Tensor& feature, Mode mode);
// The same, with its intermediate tensors. Requires gradients enabled.
SlotTap tap_seed(const Seed& seed, const torch::Tensor& feature, Mode mode);
// The same at alpha 1, whatever the scalars say.
torch::Tensor apply_whole_seed(const Seed& seed, const torch::Tensor& feature, Mode mode);
// compose() for many configurations at once, `flat` having the rows that come in.
torch::Tensor compose_groups(config::Composition kind, const Features& flat, const AlphaBranches& branches);
// As apply_seed() in evaluation mode, for many configurations at once: alpha comes from `branches`, per group of rows,
// for a feature of any rank. The seed itself runs once for each incoming group. Without gradients.
torch::Tensor apply_seed(const Seed& seed, const torch::Tensor& feature, const AlphaBranches& branches);

}  // namespace esper::kasmina
