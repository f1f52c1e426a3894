// `esper evaluate`: a checkpoint's network on the test or validation data. Beside a run that is still going, too.

#include <fmt/core.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <optional>
#include <vector>

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

constexpr char kSameCommand[] = "the same command with";

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

// Samples that are measured must not be among those that were trained on, and inputs must be scaled as in training.
void require_training_data(const Workbench& bench, const tolaria::CheckpointImage& image, const std::string& path) {
  if (tolaria::training_identity(bench.config, bench.data).has_data_of(image.info.training_hash)) return;
  throw Error(
      ExitCode::kCheckpoint,
      path +
          ": training or validation data differ from those of this checkpoint, so the part to be measured could "
          "hold samples that it was trained on, and inputs would be scaled differently; restore the data, or "
          "leave out the --set that changes them. Other data are measured with --set data.test_path=PATH");
}

bool same_tensor(const torch::Tensor& a, const torch::Tensor& b) {
  if (!a.defined() || !b.defined()) return a.defined() == b.defined();
  return a.scalar_type() == b.scalar_type() && a.equal(b);
}

// Wherever they lie: figures on samples that policy and gates saw are no test figures.
void require_unseen(const data::Splits& data) {
  const data::Dataset &test = *data.test, &validation = data.validation;
  const bool same = same_tensor(test.inputs, validation.inputs) && same_tensor(test.targets, validation.targets) &&
                    same_tensor(test.windows, validation.windows);
  if (!same) return;
  throw Error(
      ExitCode::kConfig,
      "data.test_path: the test samples are those that validated this run, which its policy and gates saw; use "
      "--part validation, or name other data. A run that is trained with data.test_path set keeps the test part "
      "that its data bring along for testing");
}

std::optional<data::Dataset> added_test_part(const EvaluateRequest& request) {
  auto data = request.config.data;
  data.test_path = request.added_test_path;
  data.test_fraction = 0;
  return load_data(data, kSameCommand, data::TestPart::kRead).test;
}

// Everything but the network's state.
Workbench prepare(const EvaluateRequest& request) {
  const bool testing = request.part == EvaluatedPart::kTest, added = !request.added_test_path.empty();
  // Before the others, so that only its samples stay in memory.
  auto test = testing && added ? added_test_part(request) : std::nullopt;
  Workbench bench = set_up(request.config, /*cache_dir=*/"", kSameCommand,
                           testing && !added ? data::TestPart::kRead : data::TestPart::kUnread);
  if (test) bench.data.test = std::move(test);
  if (testing) require_unseen(bench.data);
  return bench;
}

std::vector<float> values_of(const torch::Tensor& figures) {
  const auto* first = figures.const_data_ptr<float>();
  return {first, first + figures.numel()};
}

void restore(Workbench& bench, const std::string& path, base::FileSystem& files) {
  const auto image = tolaria::read_checkpoint(files, path);
  if (!image) {
    throw Error(ExitCode::kCheckpoint,
                tolaria::why_unusable(path, image.error()) + "; choose another with --checkpoint");
  }
  require_training_data(bench, *image, path);
  const auto restored = step::restore_model(*bench.model, image->run.at("topology"), image->tensors, bench.device);
  if (!restored) throw Error(ExitCode::kCheckpoint, path + " cannot be used: " + restored.error());
}

}  // namespace

int run(const EvaluateRequest& request) {
  const base::Interrupt interrupt;
  storage::ConfinedFileSystem files(request.run_dir, storage::Owner::kAnyone);
  const auto path = choose_checkpoint(files, request);
  Workbench bench = prepare(request);
  restore(bench, path, files);
  const Loaders loaders = open_loaders(bench);
  const tolaria::AveragedModel averaged(*bench.model, *loaders.train, bench.config, bench.device);
  const auto per_sample = request.by_sample ? tolaria::PerSample::kKept : tolaria::PerSample::kNotKept;
  data::Loader& loader = request.part == EvaluatedPart::kTest ? *loaders.test : *loaders.validation;
  const auto result = tolaria::validation_pass(*bench.model, loader, bench.device, per_sample);
  const std::string part(base::name_of(request.part));
  ordered_json report = {{"run_dir", request.run_dir},
                         {"checkpoint", path},
                         {"part", part},
                         {part, {{"loss", result.loss}, {"accuracy", result.accuracy}, {"samples", result.samples}}}};
  if (request.by_sample) {
    report["by_sample"] = {{"loss", values_of(result.by_sample.loss)},
                           {"accuracy", values_of(result.by_sample.correct)}};
  }
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
