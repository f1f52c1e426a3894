#pragma once
// A run's state as a checkpoint has it. Training thread.

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "base/expected.h"
#include "step/model.h"
#include "tamiyo/service/run_policy.h"
#include "tolaria/checkpoint/checkpoint.h"
#include "tolaria/run/state_copy.h"
#include "tolaria/state/run_facts.h"

namespace esper::tolaria {

// What a checkpoint copies.
struct SaveSource {
  const RunFacts& facts;
  const step::Model& model;
  const RunProgress& progress;
  const tamiyo::RunPolicy& policy;
  // The averaged model's batch norm statistics, of the model as it is now; empty where there are none, or a signal
  // left no time for them. May be null: none.
  std::function<std::vector<kasmina::NamedTensor>()> averaged_statistics = {};
};

// Names the state that the source has now.
CheckpointInfo state_of(const SaveSource& source);

// A copy of it, but for what only a use of the network needs: a state that is held for an interrupt alone is not worth
// computing it, and one that is saved after an error may have no device to compute it on. Where there is a copy of the
// model that the source's progress belongs to, the image shares its tensors, and the device is not touched.
CheckpointImage image_of(const SaveSource& source, const StateCopy* model = nullptr);
// A copy of all of it. The model's: as it is now.
CheckpointImage image_for_use(const SaveSource& source, const StateCopy* model = nullptr);

// What an image has besides the network.
struct ImageState {
  RunProgress progress;     // its tensors too
  std::string controller;   // the policy's state, which restore_run() reads
  std::string computed_on;  // empty where it has none
};
// Of an image of a run with so many microbatches an epoch. Fails with the reason why no run can go on from it.
base::Expected<ImageState> read_state(const CheckpointImage& image, std::int64_t batches_per_epoch);

// The rest of the image: the network, as step::restore_model() does, then the policy. `state` is read_state() of it.
// Fails likewise; the policy is as before then. Throws as try_load() does.
base::Expected<void> restore_run(const CheckpointImage& image, const ImageState& state, step::Model& model,
                                 torch::Device device, tamiyo::RunPolicy& policy);

}  // namespace esper::tolaria
