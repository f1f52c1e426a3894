#include "engine/saved_run.h"

#include <fmt/core.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/names.h"
#include "base/text/joined.h"
#include "base/text/json_fields.h"
#include "engine/loaders.h"
#include "nissa/log.h"
#include "tolaria/checkpoint/checkpoint_store.h"
#include "tolaria/run/no_checkpoint.h"
#include "tolaria/state/training_identity.h"

namespace esper::engine {
namespace {

using base::Error;
using base::ExitCode;

std::string names_of(const std::vector<tolaria::CheckpointEntry>& entries) {
  return base::joined(entries, ", ", [](const tolaria::CheckpointEntry& entry) {
    return std::string_view(entry.path).substr(entry.path.find_last_of('/') + 1);
  });
}

void warn_if_not_recorded(const std::string& best, const std::string& recorded) {
  if (recorded.empty() || recorded == best) return;
  nissa::log::warning(
      fmt::format("the journal names {} as the best checkpoint, but it is missing or unreadable; "
                  "measuring the best readable one, {}",
                  recorded, best));
}

std::string choose_checkpoint(base::FileSystem& files, const std::string& run_dir, const std::string& checkpoint) {
  const std::string folder = run_dir + "/checkpoints";
  const auto entries = tolaria::require_checkpoints(files, run_dir);
  if (checkpoint.empty()) return entries.back().path;
  if (checkpoint == "best") {
    const auto best = tolaria::best_checkpoint(files, folder, run_dir + "/journal");
    const auto found = std::ranges::find(entries, folder + "/" + best, &tolaria::CheckpointEntry::path);
    if (found != entries.end()) {
      warn_if_not_recorded(best, tolaria::best_by_journal(files, run_dir + "/journal"));
      return found->path;
    }
    throw Error(ExitCode::kCheckpoint,
                fmt::format("run {} has no best checkpoint; available: {}", run_dir, names_of(entries)));
  }
  const auto found = std::ranges::find(entries, folder + "/" + checkpoint, &tolaria::CheckpointEntry::path);
  if (found != entries.end()) return found->path;
  throw Error(ExitCode::kConfig,
              fmt::format("run {} has no checkpoint {}; available: {}", run_dir, checkpoint, names_of(entries)));
}

// Of a checkpoint that the user named, or could have named another than.
[[noreturn]] void refuse_checkpoint(const std::string& reason) {
  throw Error(ExitCode::kCheckpoint, reason + "; choose another with --checkpoint");
}

std::optional<data::Preprocessing> preprocessing_in(const tolaria::CheckpointImage& image, const std::string& path) {
  if (image.preprocessing.empty()) return std::nullopt;
  auto read = data::read_preprocessing(image.preprocessing);
  if (!read) refuse_checkpoint(path + "/preprocessing.json cannot be used: " + read.error());
  return std::move(*read);
}

bool has_statistics(const tolaria::CheckpointImage& image) {
  return std::ranges::any_of(image.tensors, [](const auto& it) { return it.id.starts_with(step::kAveragedTensors); });
}

// Those that this configuration finds, where they are what the checkpoint was trained on.
data::Splits training_data(const config::RunConfig& config, const SavedRun& saved, const std::string& way_out) {
  auto data = load_data(config, way_out, data::TestPart::kUnread);
  const auto own = tolaria::training_identity(config, data).check_data(saved.image.info.training_hash);
  if (!own) throw Error(ExitCode::kData, own.error());
  return data;
}

std::vector<kasmina::NamedTensor> statistics_over(const TrainingSetup& setup, const SavedRun& saved,
                                                  const data::Dataset& train) {
  const auto loader = open_loader(setup, train, data::Order::kShuffled);
  auto statistics = tolaria::compute_averaged_statistics(*setup.model, *loader, setup.config, setup.device);
  if (statistics.empty())
    refuse_checkpoint(saved.path + ": batch norm statistics of the averaged model are not finite");
  return statistics;
}

[[noreturn]] void refuse_without_statistics(const SavedRun& saved, const std::string& reason) {
  throw Error(ExitCode::kCheckpoint,
              fmt::format("{} holds no batch norm statistics of the averaged model, like checkpoints saved by a run "
                          "that a signal or an error ended, or by an earlier version, and they cannot be computed from "
                          "the run's training data: {}. Make the data available and repeat the command; or continue "
                          "the run where epochs are left (esper train --resume), whose next checkpoint holds the "
                          "statistics; or choose another checkpoint with --checkpoint",
                          saved.path, reason));
}

std::vector<kasmina::NamedTensor> computed_statistics(const TrainingSetup& setup, const SavedRun& saved,
                                                      const std::string& way_out) {
  try {
    if (setup.data.train.inputs.defined()) return statistics_over(setup, saved, setup.data.train);
    nissa::log::info(saved.path +
                     " holds no batch norm statistics of the averaged model: computing them from the run's training "
                     "data");
    const auto data = training_data(setup.config, saved, way_out);
    return statistics_over(setup, saved, data.train);
  } catch (const Error& error) {
    const auto code = error.code();
    if (code != ExitCode::kData && code != ExitCode::kConfig && code != ExitCode::kPolicy) throw;
    refuse_without_statistics(saved, error.what());
  }
}

}  // namespace

SavedRun open_saved_run(base::FileSystem& files, const std::string& run_dir, const std::string& checkpoint) {
  const auto path = choose_checkpoint(files, run_dir, checkpoint);
  auto image = tolaria::read_checkpoint(files, path);
  if (!image) refuse_checkpoint(tolaria::why_unusable(path, image.error()));
  auto preprocessing = preprocessing_in(*image, path);
  return {path, std::move(*image), std::move(preprocessing)};
}

void require_task(const SavedRun& saved, config::Task task) {
  if (!saved.preprocessing || saved.preprocessing->task == task) return;
  throw Error(ExitCode::kConfig,
              fmt::format("task: {} is not what {} was trained for, which is {}", base::name_of(task), saved.path,
                          base::name_of(saved.preprocessing->task)));
}

SavedNumerics saved_numerics(const SavedRun& saved) {
  const auto& safety = base::member(base::member(saved.image.run, "progress"), "safety");
  return {base::member(safety, "full_precision") == true,
          std::ranges::any_of(saved.image.tensors, [](const auto& it) { return it.id.starts_with("scaler."); })};
}

base::Expected<void> restore_network(step::Model& model, const std::string& path, const tolaria::CheckpointImage& image,
                                     torch::Device device) {
  const auto restored =
      tolaria::try_load([&] { return step::restore_model(model, image.run.at("topology"), image.tensors, device); });
  if (!restored) return base::failure(path + " cannot be used: " + restored.error());
  return {};
}

void restore(TrainingSetup& setup, const SavedRun& saved) {
  const auto restored = restore_network(*setup.model, saved.path, saved.image, setup.device);
  if (!restored) refuse_checkpoint(restored.error());
}

tolaria::AveragedModel averaged_model(const TrainingSetup& setup, const SavedRun& saved, const std::string& way_out) {
  if (!tolaria::needs_averaged_statistics(*setup.model) || has_statistics(saved.image)) {
    return {*setup.model, saved.image.tensors};
  }
  return {*setup.model, computed_statistics(setup, saved, way_out)};
}

}  // namespace esper::engine
