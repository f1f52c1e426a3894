#pragma once
// Everything that a training step reads and writes, as tensors with stable names. Training thread only.
//
// Names, for checkpoints and recorded programs (ID is a parameter's id, GROUP a group's):
//   ID                                                     the parameter itself, the tensor that its module holds
//   optimizer.momentum_buffer.ID                           sgd with momentum
//   optimizer.exp_avg.ID, optimizer.exp_avg_sq.ID          adamw
//   optimizer.step.GROUP                                   adamw
//   optimizer.lr_scale.GROUP, optimizer.lr
//   ema.ID                                                 where the run averages parameters
//   scaler.scale, scaler.growth_tracker                    fp16 only
//   scaler.scale.GROUP, scaler.growth_tracker.GROUP        fp16 only, of a seed in the shadow
//   metrics.*                                              see MetricSums and SeedSums
//   aggregation.steps                                      where there is gradient surgery: steps it had
// A host's buffers (batch norm's statistics) are the network's own and change in its forward.

#include <torch/types.h>

#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "kasmina/tensor/parameter_group.h"
#include "step/gradients/flat_tensors.h"
#include "step/gradients/grad_scaler.h"
#include "step/group_scalars.h"
#include "step/seed_sums.h"
#include "step/step_metrics.h"
#include "step/step_settings.h"

namespace esper::step {

// One parameter group with its optimizer state, laid out alike: an element is at the same place in all flat
// tensors of its group.
struct GroupState {
  std::string id;
  std::string owner;       // "host", or the id of the growing seed
  bool in_shadow = false;  // its gradient comes from a forward of its own: kasmina::SlotTap::shadow
  LossScale loss_scale;    // fp16: of a seed in the shadow, whose overflow is to leave the others' step alone
  std::vector<std::string> parameter_ids;
  FlatTensors parameters;      // the views are the tensors that the modules compute with
  FlatTensors first_moments;   // sgd: momentum buffer; adamw: exp_avg
  FlatTensors second_moments;  // adamw: exp_avg_sq
  FlatTensors averages;        // exponential moving average of the parameters

  ElementFactors factors;  // constant; in no checkpoint

  // Parts of StepState's tensors; 0-dim those of StepState::scalars.
  torch::Tensor lr;              // the run's
  torch::Tensor step;            // adamw
  torch::Tensor lr_scale;        // factor on the learning rate of this group
  torch::Tensor rate;            // scratch
  torch::Tensor eps, decay;      // scratch, adamw
  FlatTensors gradients;         // scratch
  torch::Tensor gradient_norm;   // scratch, 0-dim: in StepFigures::group_norms
  torch::Tensor isolation_gate;  // of a growing seed: the network's, 0 where its gradient does not reach the host
};

// Tensors that depend on nothing but the number of target elements of a step. Kept for good once made: a captured step
// goes on reading them at their address.
struct CountConstants {
  std::int64_t num_targets = 0;
  torch::Tensor inverse;    // 0-dim float32, 1 / num_targets
  torch::Tensor increment;  // int64 [2]: one step, num_targets; what MetricSums::counts grows by
};

// What aggregation.h works with. Seeds are the growing ones, in order of birth.
struct AggregationState {
  torch::Tensor steps;  // 0-dim int64, in checkpoints; undefined where the run's settings ask for no surgery

  // Derived, in no checkpoint.
  std::int64_t num_seeds = 0;
  torch::Tensor plain_figures;  // float64 [seeds, 5]: what a step without surgery adds to SeedSums; constant
  torch::Tensor class_shares;   // float32 [classes + 1, seeds], rows sum to one, the last for all others; constant
  torch::Tensor probed;         // float32 [microbatches, seeds]: written before each step where attribution is probe,
                                // in place, and replaced only where the structure changes
  torch::Tensor microbatch_gradients;  // float32 [microbatches, elements of all parameters]; scratch
};

struct StepState {
  torch::Device device = torch::kCPU;
  std::vector<GroupState> groups;
  torch::Tensor lr;             // 0-dim float32
  torch::Tensor class_weights;  // float32 [classes]; constant, in no checkpoint; undefined: 1 for all
  // Batch norm's, the network's own, where a step may be skipped after its forward: fp16 only.
  std::vector<kasmina::NamedTensor> statistics;
  GroupScalars scalars;
  LossScale loss_scale;  // of all groups without one of their own
  MetricSums metrics;
  SeedSums seed_sums;
  AggregationState aggregation;

  // Derived by sync_groups and train_step, in no checkpoint.
  std::vector<torch::Tensor> parameters;  // of all groups, in order
  torch::Tensor gradients;                // [elements of all parameters] float32
  StepFigures figures;
  std::vector<CountConstants> count_constants;
};

// No step taken and no moments: as a new optimizer of these parameters.
void restart_optimizer(const GroupState& group);

// Is it the group of a growing seed? The first group is the host's.
bool is_growing(const StepState& state, const GroupState& group);

// A state without parameters, for these settings.
StepState make_step_state(const StepSettings& settings, torch::Device device);

// Which parameters kept their optimizer state, which are new, which were removed. Of those that kept it: whose moments
// were worked into those of the layer as it is now, and whose first moment were reset, since the layer took in a
// fossil. Of the new ones: whose moments were copied from their source's, and of whose only the second, the first being
// reset, since they were born zero.
struct StructureChange {
  std::vector<std::string> carried, created, dropped;
  std::vector<std::string> transformed, reset;
  std::vector<std::string> copied;
};

// Makes the state fit the network's parameters, by id. A group's parameters are moved into one piece of memory: the
// tensors stay the same objects with the same bits, but earlier views of them do not follow. What
// stays keeps its place in memory, its moments and its average, as the same tensor objects while its group has the same
// parameters, else as the same bits; a group that stays keeps its step count and learning-rate scale, but with adamw
// its optimizer state is reset where parameters join it that no group had. New moments and step counts start at zero,
// those of copies as copied_moments.h says, averages at the parameter's value. Call it at the start and after every
// change of structure. Parameters belong to one StepState at a time: the last one that took them.
StructureChange sync_groups(StepState& state, const StepSettings& settings,
                            std::span<const kasmina::ParameterGroup> groups);

// Where a parameter is in a state; group is null if it is nowhere.
struct ParameterPlace {
  const GroupState* group = nullptr;
  std::size_t index = 0;
};
ParameterPlace find_parameter(const StepState& state, const std::string& id);

// All of the state under its names, in a fixed order. The tensors are the state's own: copy values into them in place.
std::vector<kasmina::NamedTensor> named_tensors(const StepState& state);

// Writes the learning rate that the next steps use (before a group's lr_scale). Not a read of the device.
void set_learning_rate(StepState& state, double lr);

}  // namespace esper::step
