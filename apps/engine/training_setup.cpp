#include "engine/training_setup.h"

#include <ATen/Parallel.h>
#include <fmt/core.h>

#include "base/error.h"
#include "base/signal_point.h"
#include "base/text/printable.h"
#include "data/class_counts.h"
#include "data/files/input_error.h"
#include "data/loading/loader_config.h"
#include "device/cuda_table.h"
#include "device/precision.h"
#include "device/rng.h"
#include "device/select.h"
#include "device/settings.h"
#include "engine/end_in_time.h"
#include "engine/python/find_python.h"
#include "engine/target_fit.h"
#include "engine/trusted_programs.h"
#include "nissa/log.h"

namespace esper::engine {
namespace {

// Null where no lane of the run compiles. In lane auto training continues beside the compiler, in lane compiled it
// waits.
std::unique_ptr<program::CompileService> compile_service_of(const config::RunConfig& config, torch::Device device,
                                                            const std::string& cache_dir) {
  using config::Lane;
  using program::WorkerPriority;
  const Lane lane = config.step.lane;
  if (lane != Lane::kAuto && lane != Lane::kCompiled) return nullptr;
  return make_compile_service(config, device, cache_dir,
                              lane == Lane::kAuto ? WorkerPriority::kBackground : WorkerPriority::kNormal);
}

struct StartedDevice {
  torch::Device device;
  step::StepSettings settings;
};

// Selects it, applies its settings, seeds the random number generators.
StartedDevice start_device(const config::RunConfig& config) {
  const auto selection = device::select_device(config.device.kind);
  if (!selection.note.empty()) nissa::log::warning(selection.note);
  device::apply_settings(config.device, selection.device);
  device::seed_all(config.seed);
  return {selection.device,
          step::step_settings(config, device::resolve_precision(config.device.precision, selection.device))};
}

void warn_of_only_class(const data::Dataset& train) {
  const auto name = data::only_class(train);
  if (!name) return;
  nissa::log::warning(fmt::format(
      "all training samples have one class, {}: a network that always answers it has accuracy 1, and nothing is "
      "learned; look at the data: esper data show",
      base::in_quotes(*name)));
}

// For samples that a checkpoint describes: where they fit no network of this configuration, it is the checkpoint that
// is of another one.
std::unique_ptr<step::Model> model_of_checkpoint(const config::RunConfig& config, const leyline::SampleShape& sample,
                                                 const StartedDevice& started) {
  try {
    return step::build_model(config, sample, started.settings, started.device);
  } catch (const base::Error& error) {
    if (error.code() != base::ExitCode::kConfig) throw;
    throw base::Error(base::ExitCode::kCheckpoint,
                      std::string("the checkpoint does not fit this configuration: ") + error.what());
  }
}

}  // namespace

data::Splits load_data(const config::RunConfig& config, const std::string& way_out, data::TestPart test) {
  if (config.data.kind == config::DataKind::kProcess) require_trusted(config.data.command, "data.command");
  try {
    return data::load_dataset(config.data, test, config.task);
  } catch (const data::MissingData& error) {
    if (way_out.empty()) throw;
    throw base::Error(error.code(), fmt::format("{}. If the data was moved: {} --set data.{}=NEW", error.what(),
                                                way_out, error.key()));
  }
}

TrainingSetup set_up(const config::RunConfig& config, const std::string& cache_dir, const std::string& way_out,
                     data::TestPart test) {
  const auto [device, settings] = start_device(config);
  base::fault::signal_point("tolaria.loading");
  auto data = load_data(config, way_out, test);
  warn_of_only_class(data.train);
  auto model = step::build_model(config, data.train.shape, settings, device);
  if (const auto misfit = misfit_of_targets(config, data.train); !misfit.empty()) {
    throw base::Error(base::ExitCode::kConfig, "host.kind: " + misfit);
  }
  device::keep_freed_memory();
  return {config, device, settings, std::move(data), std::move(model), compile_service_of(config, device, cache_dir)};
}

TrainingSetup set_up_saved(const config::RunConfig& config, const leyline::SampleShape& sample,
                           const SavedNumerics& numerics, const std::function<data::Splits()>& load) {
  auto own = config;
  if (numerics.full_precision && config.device.precision != config::Precision::kFp32) {
    nissa::log::warning("the run switched to fp32 (tolaria.full_precision), so its network is computed in fp32 here");
    own.device.precision = config::Precision::kFp32;
  }
  StartedDevice started = start_device(own);
  started.settings.has_loss_scale = numerics.has_loss_scale;
  auto data = load ? load() : data::Splits();
  device::keep_freed_memory();
  auto model = model_of_checkpoint(own, sample, started);
  return {std::move(own), started.device, started.settings, std::move(data), std::move(model), nullptr};
}

std::unique_ptr<program::CompileService> make_compile_service(const config::RunConfig& config, torch::Device device,
                                                              const std::string& cache_dir,
                                                              program::WorkerPriority priority) {
  const std::string python = python_candidate();
  if (python.empty()) return nullptr;
  program::CompileServiceSettings settings;
  settings.compile = config.step.compile;
  settings.python = python;
  settings.torch_version = ESPER_LIBTORCH;
  settings.device = device.is_cuda() ? "cuda " + device::cuda().facts(device.index()).name : "cpu";
  settings.card = device.is_cuda() ? device.index() : 0;
  settings.threads = at::get_num_threads();
  settings.numerics.deterministic = config.device.deterministic && (device.is_cuda() || settings.threads > 1);
  settings.numerics.tf32 = device.is_cuda() && config.device.tf32;
  settings.priority = priority;
  settings.end_deadline = longest_join(config);
  return std::make_unique<program::CompileService>(settings, program::CompileFolders{cache_dir, {}});
}

std::string preprocessing_text(const TrainingSetup& setup) {
  return data::text_of(data::preprocessing_of(setup.config.data, setup.config.task, setup.data));
}

data::Preprocessing preprocessing_of_checkpoint(const std::string& path, const std::string& text) {
  auto read = data::read_preprocessing(text);
  if (read) return *std::move(read);
  throw base::Error(base::ExitCode::kCheckpoint, path + "/preprocessing.json cannot be used: " + read.error());
}

void raise_precision(TrainingSetup& setup) {
  const bool scales_loss = setup.settings.scales_loss();
  setup.config.device.precision = config::Precision::kFp32;
  setup.settings = step::step_settings(setup.config, torch::kFloat32);
  setup.settings.has_loss_scale = scales_loss;
}

std::unique_ptr<step::Model> fresh_model(const TrainingSetup& setup) {
  return step::build_model(setup.config, setup.data.train.shape, setup.settings, setup.device);
}

std::int64_t batches_per_epoch(const TrainingSetup& setup) {
  const auto& config = setup.config.data;
  return data::batches_of(data::samples_per_epoch(data::num_samples(setup.data.train), config.epoch_samples),
                          config.batch_size);
}

}  // namespace esper::engine
