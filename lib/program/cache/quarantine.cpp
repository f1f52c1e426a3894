#include "program/cache/quarantine.h"

#include <fmt/core.h>

#include <array>
#include <filesystem>
#include <vector>

#include "storage/atomic_publish.h"
#include "storage/file_tools.h"

namespace esper::program {
namespace {

using base::PathKind;

constexpr std::uint64_t kMaxReasonBytes = 1u << 20;

const char* ending_of(EntryFault fault) {
  constexpr std::array kEndings = {".damaged", ".failed", ".failed_again", ".wrong"};  // in the order of EntryFault
  return kEndings.at(static_cast<std::size_t>(fault));
}

// Sorts by time as text.
std::string quarantine_name(base::Duration wall, const std::string& key) {
  return fmt::format("{:019}-{}", wall.count(), key);
}

// Oldest first; names begin with the time.
void remove_oldest(const Quarantine& quarantine) {
  const auto entries = quarantine.files.list(quarantine.folder);
  const auto path_of = [&](const auto& entry) { return quarantine.folder + "/" + entry.name; };
  std::uint64_t total = 0;
  std::vector<std::uint64_t> sizes;
  for (const auto& entry : entries) {
    const bool is_file = entry.kind == PathKind::kFile;
    sizes.push_back(is_file ? quarantine.files.open(path_of(entry), base::OpenMode::kRead).size() : 0);
    total += sizes.back();
  }
  for (std::size_t i = 0; i < entries.size() && total > quarantine.limit_bytes; ++i) {
    storage::remove_all(quarantine.files, path_of(entries[i]));
    total -= sizes[i];
  }
}

}  // namespace

void move_to_quarantine(const Quarantine& quarantine, const std::string& entry, base::Duration wall, EntryFault fault,
                        const std::string& reason) {
  const std::filesystem::path path(entry);
  // Another run may have evicted it; what is wrong with the program stays true.
  if (quarantine.files.kind_of(entry) != PathKind::kNothing) {
    quarantine.files.rename(entry, quarantine.folder + "/" + quarantine_name(wall, path.filename()));
    quarantine.files.sync_folder(path.parent_path());
  }
  keep_reason(quarantine, path.filename(), wall, fault, reason);
}

void keep_reason(const Quarantine& quarantine, const std::string& key, base::Duration wall, EntryFault fault,
                 const std::string& reason) {
  const std::string path = quarantine.folder + "/" + quarantine_name(wall, key) + ending_of(fault);
  storage::publish_file(quarantine.files, path, storage::bytes_of(reason + "\n"));
  remove_oldest(quarantine);
}

std::optional<std::string> reason_in_quarantine(const Quarantine& quarantine, const std::string& key, EntryFault fault,
                                                base::Duration since) {
  const std::string ending = "-" + key + ending_of(fault), earliest = quarantine_name(since, "");
  std::optional<std::string> reason;
  try {
    for (const auto& entry : quarantine.files.list(quarantine.folder)) {
      if (!entry.name.ends_with(ending) || entry.name < earliest) continue;
      const std::string path = quarantine.folder + "/" + entry.name;
      reason = storage::text_of(storage::read_file(quarantine.files, path, kMaxReasonBytes));
      while (!reason->empty() && reason->back() == '\n') reason->pop_back();
    }
  } catch (const base::IoError&) {
  }
  return reason;
}

}  // namespace esper::program
