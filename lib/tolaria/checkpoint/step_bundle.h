#pragma once
// One step that went wrong, on disk, with all that it takes to run it again (`esper repro`): a folder that was
// published whole, which is a checkpoint of the state before the step (checkpoint.h; of any state, also one that is not
// finite), and besides
//   batch.safetensors  the step's batch, as "batch.<i>.inputs" and "batch.<i>.targets"; NaN and infinities are values
//   step.json          StepFacts
//   config.yaml        the run's configuration as it held in this step

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "tolaria/checkpoint/checkpoint.h"

namespace esper::tolaria {

struct StepFacts {
  std::string run_id;
  std::int64_t step = 0;         // of the run, from 0
  std::uint32_t epoch = 0;       // from 1
  std::int64_t first_batch = 0;  // of the epoch's microbatches, from 0
  std::int64_t batches_per_epoch = 0;
  std::string reason;        // "batch.0.inputs is not finite"
  double learning_rate = 0;  // the run's in this step, times rate_factor
  double rate_factor = 1;    // what it was lowered by
  std::string lane;          // that the step ran in
  // Microbatch::goes_on of each, step/train_step.h. Empty where none does, as in bundles of earlier versions.
  std::vector<bool> goes_on;
};

struct StepBundle {
  CheckpointImage state;
  std::vector<kasmina::NamedTensor> batch;  // contiguous, on the CPU
  StepFacts facts;
};

// Publishes `path`, in a folder that exists. config: of config.yaml. Throws IoError; then `path` does not exist.
void write_step_bundle(base::FileSystem& files, const std::string& path, const StepBundle& bundle,
                       const std::string& config);

// Verifies every byte, then reads. Throws IoError only for errors that are not the bundle's.
base::Expected<StepBundle, storage::ReadFailure> read_step_bundle(base::FileSystem& files, const std::string& path);

}  // namespace esper::tolaria
