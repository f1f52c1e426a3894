// `esper evaluate`: a checkpoint's network on the validation data. Beside a run that is still going, too.

#include <fmt/core.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <optional>

#include "base/interrupt.h"
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

void restore(Workbench& bench, const std::string& path, base::FileSystem& files) {
  const auto image = tolaria::read_checkpoint(files, path);
  if (!image) {
    throw Error(ExitCode::kCheckpoint,
                tolaria::why_unusable(path, image.error()) + "; choose another with --checkpoint");
  }
  const auto restored = step::restore_model(*bench.model, image->run.at("topology"), image->tensors, bench.device);
  if (!restored) throw Error(ExitCode::kCheckpoint, path + " cannot be used: " + restored.error());
}

}  // namespace

int run(const EvaluateRequest& request) {
  const base::Interrupt interrupt;
  storage::ConfinedFileSystem files(request.run_dir, storage::Owner::kAnyone);
  const auto path = choose_checkpoint(files, request);
  Workbench bench = set_up(request.config, /*cache_dir=*/"", "the same command with");
  restore(bench, path, files);
  const Loaders loaders = open_loaders(bench);
  const tolaria::AveragedModel averaged(*bench.model, *loaders.train, bench.config, bench.device);
  const auto result = tolaria::validation_pass(*bench.model, *loaders.validation, bench.device);
  const ordered_json report = {
      {"run_dir", request.run_dir},
      {"checkpoint", path},
      {"validation", {{"loss", result.loss}, {"accuracy", result.accuracy}, {"samples", result.samples}}}};
  if (request.json) {
    base::write_json(report);
  } else {
    base::write_line(path);
    base::write_line(fmt::format("validation loss {:.6f}, accuracy {:.4f}, {} samples", result.loss, result.accuracy,
                                 result.samples));
  }
  return 0;
}

}  // namespace esper::engine
