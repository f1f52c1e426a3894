#pragma once
// A run's checkpoint, found and read, for the commands that use what was trained.

#include <optional>
#include <string>

#include "base/expected.h"
#include "base/file_system.h"
#include "data/preprocessing.h"
#include "engine/training_setup.h"
#include "tolaria/checkpoint/checkpoint.h"
#include "tolaria/evaluation/averaged_model.h"

namespace esper::engine {

struct SavedRun {
  std::string path;  // of the checkpoint
  tolaria::CheckpointImage image;
  std::optional<data::Preprocessing> preprocessing;  // none: the checkpoint is of a version that did not save it
};

// checkpoint: a name, "best", or empty for the newest. Throws Error: kConfig where there is none of that name,
// kCheckpoint where it cannot be read.
SavedRun open_saved_run(base::FileSystem& files, const std::string& run_dir, const std::string& checkpoint);

// Throws Error{kConfig} where the configuration asks for another task than the checkpoint's.
void require_task(const SavedRun& saved, config::Task task);

// By the checkpoint's tensors, and the run's reactions that it holds.
SavedNumerics saved_numerics(const SavedRun& saved);

// Makes `model`, fresh from build_model, the network of this image. Fails with its path and the reason.
base::Expected<void> restore_network(step::Model& model, const std::string& path, const tolaria::CheckpointImage& image,
                                     torch::Device device);

// Makes the setup's network the checkpoint's. Throws Error{kCheckpoint}, with the advice to choose another.
void restore(TrainingSetup& setup, const SavedRun& saved);

// The setup's network as validation measures it. Its batch norm statistics are the checkpoint's; where it has none they
// are computed from the run's training data, as the run would have: from the setup's, or without any from those that
// its configuration names. Where these cannot be read, or are others, or a statistic is not finite, Error{kCheckpoint}
// is thrown. way_out: as load_data() takes it.
tolaria::AveragedModel averaged_model(const TrainingSetup& setup, const SavedRun& saved, const std::string& way_out);

}  // namespace esper::engine
