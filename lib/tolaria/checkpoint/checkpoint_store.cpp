#include "tolaria/checkpoint/checkpoint_store.h"

#include <fmt/core.h>

#include <algorithm>
#include <optional>
#include <ranges>

#include "base/error.h"
#include "base/text/json_fields.h"
#include "device/out_of_memory.h"
#include "history/growth/decision_log.h"
#include "kasmina/slot/topology.h"
#include "storage/atomic_publish.h"
#include "storage/beneath.h"
#include "storage/file_tools.h"
#include "storage/published_folder.h"

namespace esper::tolaria {
namespace {

using base::FileSystem;
using base::PathKind;
using nlohmann::json;

RefusedCheckpoint set_aside(FileSystem& files, RefusedCheckpoint refused, const std::string& ending) {
  try {
    refused.path = storage::quarantine(files, refused.path, ending);
  } catch (const base::IoError& error) {  // a reader's right, or a writer that deleted it just now
    refused.reason += fmt::format("; it could not be renamed to {}: {}", ending, error.what());
  }
  return refused;
}

bool is_segment(std::string_view text) { return history::read_segment(text).has_value(); }

bool has_checkpoint_record(FileSystem& files, const std::string& journal_path) {
  bool found = false;
  storage::scan_journal_from(files, journal_path, is_segment, [&](std::string_view text) {
    if (found) return;
    history::GrowthRecord record;
    const bool sound = history::read_growth_record(text, record) == history::GrowthRecordKind::kGrowth;
    found = sound && (record.what == "checkpoint" || record.what == "segment");
  });
  return found;
}

// One that was published and then renamed, with or without a number.
bool is_set_aside(const std::string& folder, const std::string& name) {
  for (const std::string_view ending : {storage::kDamagedEnding, storage::kUnreadableEnding}) {
    const auto at = name.find(ending);
    if (at != std::string::npos && history::checkpoint_entry(folder, name.substr(0, at))) return true;
  }
  return false;
}

// kOther also for a link, behind which a ConfinedFileSystem does not look.
PathKind kind_at(FileSystem& files, const std::string& path) {
  try {
    return files.kind_of(path);
  } catch (const storage::UnsafePath&) {
    return PathKind::kOther;
  }
}

std::string best_path_in(FileSystem& files, const std::string& folder, const std::string& journal_path) {
  const auto best = best_checkpoint(files, folder, journal_path);
  return best.empty() ? "" : folder + "/" + best;
}

// As progress.safety has it; none: -1.
std::int64_t good_step_of(const CheckpointImage& image) {
  const json::json_pointer place("/progress/safety/good_step");
  return image.run.contains(place) ? base::whole_of<std::int64_t>(image.run.at(place), place.back()) : -1;
}

}  // namespace

bool had_checkpoints(FileSystem& files, const std::string& folder, const std::string& journal_path) {
  const bool is_there = files.kind_of(folder) != PathKind::kNothing;
  const auto found = is_there ? files.list(folder) : std::vector<base::FolderEntry>();
  return std::ranges::any_of(found, [&](const auto& entry) { return is_set_aside(folder, entry.name); }) ||
         has_checkpoint_record(files, journal_path);
}

CheckpointStore::CheckpointStore(FileSystem& files, std::string folder, const std::string& journal_path,
                                 config::CheckpointConfig config, std::uint64_t journal_file_bytes)
    : files_(files),
      folder_(std::move(folder)),
      config_(config),
      journal_(files, journal_path, journal_file_bytes),
      decisions_(files, storage::parent_of(folder_) + "/" + history::kDecisionLog),
      reserve_(files, storage::parent_of(folder_) + "/reserve"),
      entries_(list_checkpoints(files, folder_)),
      best_path_(best_path_in(files, folder_, journal_path)) {
  std::erase_if(entries_, [&](const auto& entry) { return kind_at(files_, entry.path) != PathKind::kFolder; });
}

CheckpointEntry CheckpointStore::entry_of(const CheckpointInfo& info) const {
  return {folder_ + "/" + history::checkpoint_name(info.epoch, info.step), info.step, info.epoch};
}

CheckpointStore::Published CheckpointStore::publish(const CheckpointImage& image, Rank rank) {
  sync_decisions();
  const CheckpointEntry entry = entry_of(image.info);
  Published published{entry, 0, {}, {}};
  if (!holds(entry, image.info)) {
    unrecorded_ = entry.path;
    published.bytes = write_checkpoint(files_, entry.path, image);
  } else if (unrecorded_ == entry.path) {
    published.bytes = checkpoint_bytes(files_, entry.path);
  }
  list(entry);
  const bool new_best = rank == Rank::kBest && best_path_ != entry.path;
  if (published.bytes > 0 || new_best) {
    json written = {{"what", "checkpoint"}, {"name", entry.name()},     {"step", entry.step},
                    {"epoch", entry.epoch}, {"bytes", published.bytes}, {"best", rank == Rank::kBest}};
    if (image.run.contains("topology_hash")) written["topology"] = image.run["topology_hash"];
    record(written.dump());
  }
  unrecorded_.clear();
  if (new_best) best_path_ = entry.path;
  published.not_rotated = rotate_journal(image);
  published.not_deleted = delete_superseded(good_step_of(image));
  return published;
}

// A quarter more, and what the folder itself takes: the next one may be larger.
std::string CheckpointStore::keep_space(std::uint64_t bytes) {
  constexpr std::uint64_t kOfFolder = 64 << 10;
  if (!config_.reserve_space) return {};
  try {
    reserve_.grow_to(bytes + bytes / 4 + kOfFolder);
    return {};
  } catch (const base::IoError& error) {
    return error.what();
  }
}

// A checkpoint is worth more than the log: where the disk fails it alone, the run is saved without it.
void CheckpointStore::sync_decisions() {
  try {
    decisions_.sync();
  } catch (const base::IoError&) {  // the checkpoint's own writes report a disk that fails
  }
}

// True if saved already: an interrupt right after a save or a resume, or a save whose last step failed. Anything else
// under the name is renamed; as damaged only if that is proven, not if it is of another configuration.
bool CheckpointStore::holds(const CheckpointEntry& entry, const CheckpointInfo& info) {
  if (kind_at(files_, entry.path) == PathKind::kNothing) return false;
  const auto found = verify_checkpoint(files_, entry.path);
  if (found && *found == info) {
    files_.sync_folder(folder_);
    return true;
  }
  const bool is_damaged = !found && found.error().fault == storage::Fault::kDamaged;
  storage::quarantine(files_, entry.path, is_damaged ? storage::kDamagedEnding : storage::kUnreadableEnding);
  std::erase_if(entries_, [&](const CheckpointEntry& listed) { return listed.path == entry.path; });
  return false;
}

void CheckpointStore::protect(const std::vector<RefusedCheckpoint>& refused) {
  for (const auto& checkpoint : refused) {
    std::erase_if(entries_, [&](const CheckpointEntry& listed) { return listed.path == checkpoint.path; });
  }
}

// Recorded as the newest: a valid one is never behind one that a resumed run skipped.
void CheckpointStore::list(const CheckpointEntry& entry) {
  std::erase_if(entries_, [&](const CheckpointEntry& listed) { return listed.path == entry.path; });
  entries_.push_back(entry);
}

// Rotates at a checkpoint, since everything that the new file begins with is known there.
std::string CheckpointStore::rotate_journal(const CheckpointImage& image) {
  if (!journal_.is_file_full() || !image.run.contains("topology")) return {};
  const auto best = best_path_.substr(best_path_.find_last_of('/') + 1);
  try {
    journal_.begin_file({image.info.epoch, image.info.step}, kasmina::topology_of(image.run["topology"]), best);
  } catch (const base::IoError& error) {
    return error.what();
  }
  return {};
}

std::optional<UndeletedCheckpoint> CheckpointStore::delete_superseded(std::int64_t good_step) {
  const auto keep_from = static_cast<std::ptrdiff_t>(entries_.size()) - config_.keep_last;
  const auto is_good = [&](const CheckpointEntry& entry) { return entry.step <= good_step; };
  const auto good = std::ranges::find_if(entries_ | std::views::reverse, is_good);
  const std::string good_path = good == entries_.rend() ? "" : good->path;
  std::optional<UndeletedCheckpoint> undeleted;
  for (std::ptrdiff_t i = keep_from - 1; i >= 0; --i) {
    const auto place = entries_.begin() + i;
    if ((config_.keep_best && place->path == best_path_) || place->path == good_path) continue;
    try {
      storage::remove_published(files_, place->path);
      entries_.erase(place);
    } catch (const base::IoError& error) {
      undeleted = UndeletedCheckpoint{place->path, error.what()};
    }
  }
  return undeleted;
}

std::string restore_newest(FileSystem& files, const std::string& folder,
                           const std::function<base::Expected<void>(const CheckpointImage&)>& accept,
                           std::vector<RefusedCheckpoint>& refused) {
  const auto entries = list_checkpoints(files, folder);
  std::vector<RefusedCheckpoint> passed_over;
  for (auto entry = entries.rbegin(); entry != entries.rend(); ++entry) {
    const auto image = read_checkpoint(files, entry->path);
    if (!image) {
      const RefusedCheckpoint unread{entry->path, image.error().problem, entry->step};
      const bool damaged = image.error().fault == storage::Fault::kDamaged;
      refused.push_back(damaged ? set_aside(files, unread, storage::kDamagedEnding) : unread);
      continue;
    }
    const auto accepted = accept(*image);
    if (accepted) {
      // The run will publish under these names itself.
      for (const auto& passed : passed_over) refused.push_back(set_aside(files, passed, storage::kUnreadableEnding));
      return entry->path;
    }
    passed_over.push_back({entry->path, accepted.error(), entry->step, true});
  }
  refused.insert(refused.end(), passed_over.begin(), passed_over.end());
  return {};
}

base::Expected<void> try_load(const std::function<base::Expected<void>()>& load) {
  try {
    return load();
  } catch (const nlohmann::json::exception& error) {
    return base::failure("run.json: " + base::plain_reason(error));
  } catch (const std::exception& error) {
    const auto* known = dynamic_cast<const base::Error*>(&error);
    const bool is_of_policy = known != nullptr && known->code() == base::ExitCode::kPolicy;
    if (is_of_policy || !device::out_of_memory_message(error).empty()) throw;
    return base::failure(error.what());
  }
}

}  // namespace esper::tolaria
