// `esper evaluate`: a checkpoint's network on the test or validation data. Beside a run that is still going, too.

#include <fmt/core.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <optional>

#include "base/interrupt.h"
#include "base/names.h"
#include "base/text/joined.h"
#include "base/text/standard_output.h"
#include "engine/commands.h"
#include "engine/workbench.h"
#include "nissa/log.h"
#include "storage/confined_file_system.h"
#include "tolaria/checkpoint/checkpoint_store.h"
#include "tolaria/evaluation/averaged_model.h"
#include "tolaria/evaluation/validation_pass.h"
#include "tolaria/run/no_checkpoint.h"
#include "tolaria/run/training_identity.h"

namespace esper::engine {
namespace {

using base::Error;
using base::ExitCode;
using nlohmann::ordered_json;

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

std::string choose_checkpoint(base::FileSystem& files, const EvaluateRequest& request) {
  const std::string folder = request.run_dir + "/checkpoints";
  const auto entries = tolaria::require_checkpoints(files, request.run_dir);
  if (request.checkpoint.empty()) return entries.back().path;
  if (request.checkpoint == "best") {
    const auto best = tolaria::best_checkpoint(files, folder, request.run_dir + "/journal");
    const auto found = std::ranges::find(entries, folder + "/" + best, &tolaria::CheckpointEntry::path);
    if (found != entries.end()) {
      warn_if_not_recorded(best, tolaria::best_by_journal(files, request.run_dir + "/journal"));
      return found->path;
    }
    throw Error(ExitCode::kCheckpoint,
                fmt::format("run {} has no best checkpoint; available: {}", request.run_dir, names_of(entries)));
  }
  const auto found = std::ranges::find(entries, folder + "/" + request.checkpoint, &tolaria::CheckpointEntry::path);
  if (found != entries.end()) return found->path;
  throw Error(ExitCode::kConfig, fmt::format("run {} has no checkpoint {}; available: {}", request.run_dir,
                                             request.checkpoint, names_of(entries)));
}

// Test samples must not be among those that were trained on, and inputs must be scaled as in training.
void require_training_data(const Workbench& bench, const tolaria::CheckpointImage& image, const std::string& path) {
  if (tolaria::training_identity(bench.config, bench.data).has_data_of(image.info.training_hash)) return;
  throw Error(ExitCode::kCheckpoint,
              path +
                  ": training or validation data differ from those of this checkpoint, so the test part could hold "
                  "samples that it was trained on, and inputs would be scaled differently; restore the data, leave "
                  "out the --set that changes them, or use --part validation");
}

void restore(Workbench& bench, const std::string& path, base::FileSystem& files) {
  const auto image = tolaria::read_checkpoint(files, path);
  if (!image) {
    throw Error(ExitCode::kCheckpoint,
                tolaria::why_unusable(path, image.error()) + "; choose another with --checkpoint");
  }
  if (bench.data.test) require_training_data(bench, *image, path);
  const auto restored = step::restore_model(*bench.model, image->run.at("topology"), image->tensors, bench.device);
  if (!restored) throw Error(ExitCode::kCheckpoint, path + " cannot be used: " + restored.error());
}

}  // namespace

int run(const EvaluateRequest& request) {
  const base::Interrupt interrupt;
  storage::ConfinedFileSystem files(request.run_dir, storage::Owner::kAnyone);
  const auto path = choose_checkpoint(files, request);
  const bool testing = request.part == EvaluatedPart::kTest;
  Workbench bench = set_up(request.config, /*cache_dir=*/"", "the same command with",
                           testing ? data::TestPart::kRead : data::TestPart::kUnread);
  restore(bench, path, files);
  const Loaders loaders = open_loaders(bench);
  const tolaria::AveragedModel averaged(*bench.model, *loaders.train, bench.config, bench.device);
  data::Loader& loader = testing ? *loaders.test : *loaders.validation;
  const auto result = tolaria::validation_pass(*bench.model, loader, bench.device);
  const std::string part(base::name_of(request.part));
  const ordered_json report = {
      {"run_dir", request.run_dir},
      {"checkpoint", path},
      {"part", part},
      {part, {{"loss", result.loss}, {"accuracy", result.accuracy}, {"samples", result.samples}}}};
  if (request.json) {
    base::write_json(report);
  } else {
    base::write_line(path);
    base::write_line("part: " + part);
    base::write_line(
        fmt::format("{} loss {:.6f}, accuracy {:.4f}, {} samples", part, result.loss, result.accuracy, result.samples));
  }
  return 0;
}

}  // namespace esper::engine
