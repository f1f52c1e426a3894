#include "tolaria/run/no_checkpoint.h"

#include <fmt/core.h>

#include <string_view>

#include "base/text/joined.h"
#include "history/telemetry/jsonl_reader.h"
#include "leyline/telemetry/telemetry.h"
#include "storage/journal/journal.h"
#include "tolaria/checkpoint/checkpoint_store.h"

namespace esper::tolaria {
namespace {

using namespace leyline::literals;

// The evidence that a run had passed its first step; empty if there is none. A damaged journal may have lost its
// records of checkpoints, so telemetry counts too. A summary counts if the journal is lost: with a journal that records
// no checkpoint, the run ended before its first one.
std::string trace_of_training(base::FileSystem& files, const std::string& run) {
  const std::string journal = run + "/journal";
  if (had_checkpoints(files, run + "/checkpoints", journal)) return "had checkpoints";
  if (history::has_event(run + "/telemetry.jsonl", "tolaria.checkpoint_saved"_event.name()))
    return "had checkpoints (its telemetry reports them)";
  if (files.kind_of(run + "/summary.json") == base::PathKind::kNothing) return {};
  const auto scan = storage::scan_journal(files, journal, [](std::string_view) {});
  return scan.records == 0 ? "was trained before (it has a summary.json, but no journal)" : "";
}

}  // namespace

std::string lost_checkpoints(base::FileSystem& files, const std::string& run) {
  const auto trace = trace_of_training(files, run);
  if (trace.empty()) return {};
  return fmt::format(
      "{} {}, but {}/checkpoints has no usable one. Restore them (repair NAME.bad or NAME.unread and rename it to "
      "NAME), then try again; or start a new run: esper train --config {}/config.yaml",
      run, trace, run, run);
}

std::vector<CheckpointEntry> require_checkpoints(base::FileSystem& files, const std::string& run) {
  const std::string folder = run + "/checkpoints";
  const bool is_there = files.kind_of(folder) != base::PathKind::kNothing;
  if (auto found = is_there ? list_checkpoints(files, folder) : std::vector<CheckpointEntry>(); !found.empty()) {
    return found;
  }
  const auto lost = lost_checkpoints(files, run);
  throw base::Error(base::ExitCode::kCheckpoint, lost.empty() ? "run " + run + " has no checkpoint yet" : lost);
}

void fail_without_usable(const std::string& run, const std::vector<std::string>& reasons) {
  throw base::Error(
      base::ExitCode::kCheckpoint,
      fmt::format(
          "no checkpoint of {} can be used:\n  {}\nRepair one of them (permissions, the disk, its data, a newer "
          "version of esper) and resume again; or start a new run: esper train --config {}/config.yaml",
          run, base::joined(reasons, "\n  "), run));
}

}  // namespace esper::tolaria
