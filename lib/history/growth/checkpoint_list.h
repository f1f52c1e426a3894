#pragma once
// The checkpoints that a run folder holds, by their names and by what their run.json says. Any thread; safe while
// another process writes.

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "base/file_system.h"

namespace esper::history {

// Of everything in a checkpoint but its tensors.
inline constexpr char kRunName[] = "run.json";

struct CheckpointEntry {
  std::string path;
  std::int64_t step = 0;
  std::uint32_t epoch = 0;  // epochs completed

  std::string name() const { return path.substr(path.find_last_of('/') + 1); }
};

// "epoch-0003-step-000000120": sorts by time, and one name never has two contents.
std::string checkpoint_name(std::uint32_t epoch, std::int64_t step);

// The checkpoint of that name in `folder`. Nothing for names that no run publishes (leftovers, quarantined ones).
std::optional<CheckpointEntry> checkpoint_entry(const std::string& folder, const std::string& name);

// The published checkpoints of a folder, oldest first; includes links and other entries under such a name, which cannot
// be read.
std::vector<CheckpointEntry> list_checkpoints(base::FileSystem& files, const std::string& folder);

// Reads a checkpoint's run.json alone, without verification; the rest of the folder is not read. A discarded value if
// it is not JSON. Throws IoError; EFBIG if it has more bytes than `most`.
inline constexpr std::uint64_t kMostRunJsonBytes = 64ull << 20;
nlohmann::json read_run_json(base::FileSystem& files, const std::string& checkpoint,
                             std::uint64_t most = kMostRunJsonBytes);

// The name of the newest checkpoint that was the best when its state was taken, according to its own run.json, whatever
// the journal says. If there is none, the last one that the journal records as the best, if it still exists; else
// empty.
std::string best_checkpoint(base::FileSystem& files, const std::string& folder, const std::string& journal_path);

// The last checkpoint that the journal records as the best, whether or not it still exists; empty if none is recorded.
std::string best_by_journal(base::FileSystem& files, const std::string& journal_path);

}  // namespace esper::history
