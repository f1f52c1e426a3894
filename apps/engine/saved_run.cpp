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

tolaria::AveragedModel averaged_model(TrainingSetup& setup, const SavedRun& saved) {
  if (!tolaria::needs_averaged_statistics(*setup.model) || has_statistics(saved.image)) {
    return {*setup.model, saved.image.tensors};
  }
  if (!setup.data.train.inputs.defined()) {
    throw Error(ExitCode::kCheckpoint,
                saved.path +
                    " holds no batch norm statistics of the averaged model, like checkpoints saved by a run that a "
                    "signal or an error ended, or by an earlier version: choose another with --checkpoint, or continue "
                    "the run (esper train --resume); if the run is over, move this checkpoint away before, so that "
                    "the steps after the one before it are trained again");
  }
  const auto train = open_loader(setup, setup.data.train, data::Order::kShuffled);
  return {*setup.model, *train, setup.config, setup.device};
}

}  // namespace esper::engine
