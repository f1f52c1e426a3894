#include "runs/reached_epoch.h"

#include <fmt/core.h>

#include <algorithm>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>

#include "base/error.h"
#include "base/parse_number.h"
#include "base/text/json_fields.h"
#include "history/growth/checkpoint_list.h"
#include "runs/run_folder_reader.h"
#include "runs/telemetry_end.h"
#include "storage/folder_lock.h"

namespace esper::runs {
namespace {

// Nothing where the telemetry file has no packet yet, or there is none.
std::optional<std::int64_t> epoch_in_telemetry(const std::string& run) {
  try {
    OpenFiles files;
    files.push_back(FolderReader(run).open("telemetry.jsonl"));
    return read_reached_epoch(files);
  } catch (const base::IoError&) {
    return std::nullopt;
  }
}

}  // namespace

bool is_training(const std::string& run) {
  const FolderReader folder(run);
  return storage::folder_use(folder.descriptor(), run) == storage::FolderUse::kHeld;
}

nlohmann::json saved_progress(base::FileSystem& files, const std::string& run) {
  const std::string folder = run + "/checkpoints";
  if (files.kind_of(folder) == base::PathKind::kNothing) return {};
  const auto checkpoints = history::list_checkpoints(files, folder);
  if (checkpoints.empty()) return {};
  try {
    return base::member(history::read_run_json(files, checkpoints.back().path), "progress");
  } catch (const base::IoError&) {
    return {};
  }
}

std::int64_t reached_epoch(base::FileSystem& files, const std::string& run) {
  if (is_training(run)) {
    if (const auto reported = epoch_in_telemetry(run)) return *reported;
  }
  const auto progress = saved_progress(files, run);
  const bool is_within = base::number_at<std::int64_t>(progress, "batch").value_or(0) > 0;
  return std::int64_t{base::number_at<std::uint32_t>(progress, "epoch").value_or(0)} + (is_within ? 1 : 0);
}

void refuse_begun_epochs(base::FileSystem& files, const std::string& run,
                         const std::vector<history::FieldChange>& changes) {
  const auto change = std::ranges::find(changes, "epochs", &history::FieldChange::field);
  if (change == changes.end()) return;
  const auto before = base::parse_number<std::int64_t>(change->before).value_or(0);
  const auto asked = base::parse_number<std::int64_t>(change->after).value_or(0);
  if (asked >= before) return;
  const auto reached = reached_epoch(files, run);
  if (asked > reached) return;
  throw base::Error(
      base::ExitCode::kConfig,
      fmt::format("epochs: must be more than {}, the epoch that {} has reached, but is {}", reached, run, asked));
}

void refuse_trained_epochs(base::FileSystem& files, const std::string& run, std::int64_t before, std::int64_t asked) {
  if (asked == before) return;
  const auto reached = reached_epoch(files, run);
  if (asked >= reached) return;
  throw base::Error(base::ExitCode::kConfig,
                    fmt::format("epochs: must be at least {}, the epoch that {} has reached, but is {}; to train from "
                                "an earlier epoch on: esper fork {}@STEP",
                                reached, run, asked, run));
}

}  // namespace esper::runs
