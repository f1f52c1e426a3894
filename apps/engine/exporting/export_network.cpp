#include "engine/exporting/export_network.h"

#include <fmt/core.h>

#include <filesystem>
#include <nlohmann/json.hpp>

#include "base/names.h"
#include "base/text/json_fields.h"
#include "history/receipt/receipt.h"
#include "kasmina/network/network_forward.h"
#include "porting/example.h"
#include "porting/python/python_file.h"
#include "porting/weights.h"
#include "storage/atomic_publish.h"
#include "storage/confined_file_system.h"
#include "storage/real_file_system.h"

namespace esper::engine {
namespace {

using base::Error;
using base::ExitCode;

constexpr std::int64_t kExampleRows = 4;

SavedRun saved_run(const ExportRequest& request) {
  storage::ConfinedFileSystem files(request.run_dir, storage::Owner::kAnyone);
  auto saved = open_saved_run(files, request.run_dir, request.checkpoint);
  if (saved.preprocessing) return saved;
  throw Error(ExitCode::kCheckpoint,
              saved.path +
                  " was saved by a version that did not save how the data are prepared, without which the network "
                  "cannot be used: continue the run for an epoch (esper train --resume) and export its new checkpoint");
}

// Where a difference from other programs is rounding alone.
TrainingSetup setup_of(config::RunConfig config, const SavedRun& saved) {
  config.device.kind = "cpu";
  config.device.precision = config::Precision::kFp32;
  auto setup = set_up_saved(config, saved.preprocessing->shape, saved_numerics(saved));
  setup.data.standardization = saved.preprocessing->standardization;
  restore(setup, saved);
  return setup;
}

std::string run_name(const ExportRequest& request) {
  std::error_code ignored;
  const auto path = std::filesystem::absolute(request.run_dir, ignored).lexically_normal();
  return (path.has_filename() ? path : path.parent_path()).filename().string();
}

void write(const std::string& path, const std::vector<kasmina::NamedTensor>& values) {
  storage::publish_file(storage::real_file_system(), path,
                        [&](const storage::ByteSink& sink) { porting::write_weights(values, sink); });
}

// Adds epochs that the run's journal knows, up to the checkpoint's.
void add_epochs(porting::CardSeed& seed, const std::string& run_dir, std::uint32_t last_epoch) {
  try {
    const auto receipt = history::read_receipt(run_dir, seed.id);
    if (receipt.born) seed.born_epoch = receipt.born->epoch;
    const bool is_fossil = receipt.outcome == history::Receipt::Outcome::kFossilized && receipt.ended;
    if (is_fossil && receipt.ended->epoch <= last_epoch) seed.ended_epoch = receipt.ended->epoch;
  } catch (const Error&) {
    // A run without a journal that can be read: its epochs are not known.
  }
}

// Of the checkpoint's last validation, by metric; earlier versions kept two.
std::map<std::string, double> validation_figures(const nlohmann::json& progress) {
  const auto& validation = base::member(progress, "validation");
  const auto& by_metric = base::member(validation, "by_metric");
  std::map<std::string, double> figures;
  for (const auto& [name, value] : (by_metric.is_object() ? by_metric : validation).items()) {
    if (value.is_number()) figures[name] = value;
  }
  return figures;
}

}  // namespace

ExportNetwork::ExportNetwork(const ExportRequest& request)
    : request_(request),
      saved_(saved_run(request)),
      setup_(setup_of(request.config, saved_)),
      averaged_(averaged_model(setup_, saved_, "esper train --resume " + request.run_dir)) {}

std::string ExportNetwork::write_parts(const std::string& folder) const {
  const at::NoGradGuard no_grad;
  const auto& network = setup_.model->network.state();
  const auto& shape = preprocessing().shape;
  const auto title = fmt::format("{}: a network that Esper trained and grew, as of {}.", run_name(request_),
                                 std::filesystem::path(saved_.path).filename().string());
  const auto file = porting::python_file({network, setup_.config.host, shape}, preprocessing(), title);
  storage::publish_file(storage::real_file_system(), folder + "/model.py", storage::bytes_of(file));
  write(folder + "/weights.safetensors", porting::network_values(network));
  const auto example = porting::make_example(preprocessing(), kExampleRows);
  const auto outputs = kasmina::forward(network, example.inputs, kasmina::Mode::kEvaluate);
  std::vector<kasmina::NamedTensor> tensors = {
      {"inputs", example.inputs}, {"outputs", data::in_target_units(preprocessing().standardization, outputs)}};
  if (example.raw.defined()) tensors.push_back({"raw", example.raw});
  write(folder + "/example.safetensors", tensors);
  return example.text;
}

void ExportNetwork::require_weights(const std::string& folder) const {
  const auto path = folder + "/weights.safetensors";
  const auto values = porting::network_values(setup_.model->network.state());
  if (const auto same = porting::check_weights(storage::real_file_system(), path, values); !same) {
    throw Error(ExitCode::kResources, path + " is not what was written: " + same.error());
  }
}

porting::ModelCard ExportNetwork::card() const {
  const auto& network = setup_.model->network.state();
  const auto& info = saved_.image.info;
  porting::ModelCard card;
  card.run = run_name(request_);
  card.host = base::name_of(setup_.config.host.kind);
  card.checkpoint = std::filesystem::path(saved_.path).filename().string();
  card.epoch = info.epoch;
  card.step = info.step;
  card.parameters = porting::card_parameters(network);
  card.is_averaged = setup_.settings.ema_decay > 0;
  card.seeds = porting::card_seeds(network);
  for (auto& seed : card.seeds) add_epochs(seed, request_.run_dir, info.epoch);
  card.figures = validation_figures(base::member(saved_.image.run, "progress"));
  card.data = info.training_hash.substr(info.training_hash.find('-') + 1);
  card.esper = request_.esper;
  card.torch = ESPER_LIBTORCH;
  card.format = base::name_of(request_.format);
  return card;
}

}  // namespace esper::engine
