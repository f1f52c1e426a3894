#pragma once
// What training and evaluation both need before they start: device, data and a fresh model.

#include <memory>
#include <string>

#include "config/run_config.h"
#include "data/dataset.h"
#include "data/loader.h"
#include "program/compile_desk.h"
#include "step/model.h"

namespace esper::engine {

struct Workbench {
  config::RunConfig config;
  torch::Device device;
  step::StepSettings settings;
  data::Splits data;
  std::unique_ptr<data::Loader> train_data, validation_data;
  std::unique_ptr<step::Model> model;            // as it is at the start of a run
  std::unique_ptr<program::CompileDesk> desk{};  // null where no lane of the run compiles, or there is no Python
};

// Selects the device, applies its settings, seeds the random number generators, loads the data, builds the network.
// Throws Error: kResources (no such device), kData, kConfig (network and data do not fit).
// cache_dir: as program::private_cache_folder() takes it.
// way_out: what --set data.path=NEW is to be given to, for data that is no longer where a run had it; empty: a new run.
Workbench set_up(const config::RunConfig& config, const std::string& cache_dir, const std::string& way_out = {});

// Where programs for this run can be asked for: null where there is no Python with torch. Starts nothing.
std::unique_ptr<program::CompileDesk> make_desk(const config::RunConfig& config, torch::Device device,
                                                const std::string& cache_dir, program::WorkerPriority priority);

// Starts the loaders, which read out of bench.data: it stays where it is from now on.
void open_loaders(Workbench& bench);

}  // namespace esper::engine
