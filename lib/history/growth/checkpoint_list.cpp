#include "history/growth/checkpoint_list.h"

#include <fmt/core.h>

#include <algorithm>
#include <cstdio>
#include <nlohmann/json.hpp>

#include "base/text/json_fields.h"
#include "history/growth/growth_record.h"
#include "storage/bytes.h"
#include "storage/file_tools.h"
#include "storage/journal/journal.h"

namespace esper::history {
namespace {

using base::FileSystem;
using base::PathKind;
using nlohmann::json;

// True if it holds the state right after the best epoch so far, by its own record; false if that cannot be read.
bool holds_best_epoch(FileSystem& files, const CheckpointEntry& entry) {
  try {
    const json run = read_run_json(files, entry.path);
    const json& progress = base::member(run, "progress");
    return base::member(progress, "batch") == 0 && base::member(progress, "epoch") == entry.epoch &&
           base::member(base::member(progress, "best"), "epoch") == entry.epoch;
  } catch (const base::IoError&) {
    return false;
  }
}

bool begins_a_file(std::string_view text) { return read_segment(text).has_value(); }

}  // namespace

std::string checkpoint_name(std::uint32_t epoch, std::int64_t step) {
  return fmt::format("epoch-{:04}-step-{:09}", epoch, step);
}

std::optional<CheckpointEntry> checkpoint_entry(const std::string& folder, const std::string& name) {
  CheckpointEntry entry{folder + "/" + name, 0, 0};
  long long step = 0;
  if (std::sscanf(name.c_str(), "epoch-%9u-step-%18lld", &entry.epoch, &step) != 2) return std::nullopt;
  entry.step = step;
  if (step < 0 || checkpoint_name(entry.epoch, entry.step) != name) return std::nullopt;
  return entry;
}

std::vector<CheckpointEntry> list_checkpoints(FileSystem& files, const std::string& folder) {
  std::vector<CheckpointEntry> entries;
  for (const auto& found : files.list(folder)) {
    const auto entry = checkpoint_entry(folder, found.name);
    if (entry && found.kind != PathKind::kFile) entries.push_back(*entry);
  }
  std::ranges::sort(entries, {}, [](const CheckpointEntry& entry) { return std::pair(entry.epoch, entry.step); });
  return entries;
}

json read_run_json(FileSystem& files, const std::string& checkpoint, std::uint64_t most) {
  const auto run = storage::read_file(files, checkpoint + "/" + kRunName, most);
  return json::parse(storage::text_of(run), nullptr, false);
}

std::string best_by_journal(FileSystem& files, const std::string& journal_path) {
  std::string best;
  storage::scan_journal_from(files, journal_path, begins_a_file, [&](std::string_view text) {
    if (text.find("\"best\"") == std::string_view::npos || text.find("\"best\":false") != std::string_view::npos)
      return;
    const json record = json::parse(text, nullptr, false);
    const auto what = base::text_at(record, "what");
    if (what != "segment" && (what != "checkpoint" || base::member(record, "best") != true)) return;
    best = base::text_at(record, what == "segment" ? "best" : "name");
  });
  return best;
}

std::string best_checkpoint(FileSystem& files, const std::string& folder, const std::string& journal_path) {
  const auto entries = list_checkpoints(files, folder);
  for (auto entry = entries.rbegin(); entry != entries.rend(); ++entry) {
    if (holds_best_epoch(files, *entry)) return entry->name();
  }
  const auto recorded = best_by_journal(files, journal_path);
  const bool there =
      std::ranges::any_of(entries, [&](const CheckpointEntry& entry) { return entry.name() == recorded; });
  return there ? recorded : "";
}

}  // namespace esper::history
