#pragma once
// What training and evaluation both need before they start: device, data and a fresh model.

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "config/run_config.h"
#include "data/dataset.h"
#include "data/preprocessing.h"
#include "program/compile_service.h"
#include "step/model.h"

namespace esper::engine {

struct TrainingSetup {
  config::RunConfig config;
  torch::Device device;
  step::StepSettings settings;
  data::Splits data;
  std::unique_ptr<step::Model> model;  // as it is at the start of a run, until it is restored
  std::unique_ptr<program::CompileService>
      compile_service;  // null where no lane of the run compiles, or there is no Python
};

// A way out: with other values of --set.
inline constexpr char kSameCommand[] = "the same command with";

// way_out: what --set data.path=NEW is to be given to, for data that is no longer where a run had it; empty: a new run.
// Throws Error: kData, kConfig.
data::Splits load_data(const config::RunConfig& config, const std::string& way_out, data::TestPart test);

// Selects the device, applies its settings, seeds the random number generators, loads the data, builds the network.
// Throws Error: kResources (no such device), kData, kConfig (network and data do not fit).
// cache_dir: as program::private_cache_folder() takes it.
// way_out: likewise.
TrainingSetup set_up(const config::RunConfig& config, const std::string& cache_dir, const std::string& way_out = {},
                     data::TestPart test = data::TestPart::kUnread);

// What a checkpoint's network was trained in, which may differ from what the configuration says.
struct SavedNumerics {
  bool full_precision = false;  // its run went over to fp32
  bool has_loss_scale = false;
};

// The same with a network for samples of this shape, whatever the data. load: the data; empty: without any. No lane
// compiles.
TrainingSetup set_up_saved(const config::RunConfig& config, const leyline::SampleShape& sample,
                           const SavedNumerics& numerics, const std::function<data::Splits()>& load = {});

// Where programs for this run can be asked for: null where there is no Python with torch. Starts nothing.
std::unique_ptr<program::CompileService> make_compile_service(const config::RunConfig& config, torch::Device device,
                                                              const std::string& cache_dir,
                                                              program::WorkerPriority priority);

// What its checkpoints keep of its data, as text.
std::string preprocessing_text(const TrainingSetup& setup);
// Of the checkpoint at `path`. Throws Error{kCheckpoint}.
data::Preprocessing preprocessing_of_checkpoint(const std::string& path, const std::string& text);

// What is built from now on computes in fp32, whatever the configuration says. Where the run scaled its loss before,
// its checkpoints hold the scale, so it keeps one.
void raise_precision(TrainingSetup& setup);

// A model as at the start of a run.
std::unique_ptr<step::Model> fresh_model(const TrainingSetup& setup);

// Microbatches of one epoch.
std::int64_t batches_per_epoch(const TrainingSetup& setup);

}  // namespace esper::engine
