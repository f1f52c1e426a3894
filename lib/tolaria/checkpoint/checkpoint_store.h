#pragma once
// The checkpoints of one run: publishes them, records them in the journal, deletes superseded ones, and finds the
// newest valid one. Appends to the run's other records in order with that. One thread at a time.

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/expected.h"
#include "config/run_config.h"
#include "history/growth/checkpoint_list.h"
#include "storage/space_reserve.h"
#include "tolaria/checkpoint/checkpoint.h"
#include "tolaria/checkpoint/decision_file.h"
#include "tolaria/checkpoint/run_journal.h"

namespace esper::tolaria {

using history::best_by_journal;
using history::best_checkpoint;
using history::CheckpointEntry;
using history::list_checkpoints;

struct RefusedCheckpoint {
  std::string path, reason;
  std::int64_t step = 0;  // by its name
  bool was_read = false;  // whole, and does not match
};

struct UndeletedCheckpoint {
  std::string path, reason;
};

class CheckpointStore {
 public:
  // folder: the run's checkpoints/; journal: the run's. Reads the existing ones.
  CheckpointStore(base::FileSystem& files, std::string folder, const std::string& journal_path,
                  config::CheckpointConfig config, std::uint64_t journal_file_bytes = storage::kJournalFileBytes);

  enum class Rank { kOrdinary, kBest };
  struct Published {
    CheckpointEntry entry;
    std::uint64_t bytes = 0;                         // 0: it existed already
    std::optional<UndeletedCheckpoint> not_deleted;  // a superseded one; the next publish tries again
    std::string not_rotated;  // why a journal that is due for a new file, and this publish with it, did not begin one
  };
  // Where such a state belongs.
  CheckpointEntry entry_of(const CheckpointInfo& info) const;
  // Publishes, records, then deletes superseded checkpoints: not the newest of a good step, to which the run may go
  // back. An existing folder of that name stays if it is intact and holds the same state; else it is renamed: to
  // `<name>.bad` if damaged, to `<name>.unread` if intact (of another configuration) or unreadable. Throws IoError;
  // then nothing was deleted, and the name holds either nothing new or the whole checkpoint.
  Published publish(const CheckpointImage& image, Rank rank);

  // Keeps space for another checkpoint of about so many bytes; returns why not as text, else it is empty.
  std::string keep_space(std::uint64_t bytes);
  // Gives that space up: how many bytes it was. Throws IoError.
  std::uint64_t give_up_space() { return reserve_.release(); }
  std::uint64_t kept_space() const { return reserve_.bytes(); }
  // Without what is kept. Throws IoError.
  std::uint64_t free_space() { return files_.free_bytes(folder_); }

  // Excludes a checkpoint that restore_newest skipped and left in place, since it may be intact: from now on it is
  // neither counted nor deleted.
  void protect(const std::vector<RefusedCheckpoint>& refused);

  // Oldest first; published checkpoints only, without links and spared ones.
  const std::vector<CheckpointEntry>& entries() const { return entries_; }

  // Appends a record to the run's journal (a JSON object as text).
  void record(const std::string& json_text) { journal_.append(json_text); }
  // Appends to the run's log of decisions, which lies beside the folder.
  void record(const leyline::DecisionLine& decision) { decisions_.append(decision); }

 private:
  bool holds(const CheckpointEntry& entry, const CheckpointInfo& info);
  void list(const CheckpointEntry& entry);
  std::optional<UndeletedCheckpoint> delete_superseded(std::int64_t good_step);
  void sync_decisions();
  std::string rotate_journal(const CheckpointImage& image);

  base::FileSystem& files_;
  std::string folder_;
  config::CheckpointConfig config_;
  RunJournal journal_;
  DecisionFile decisions_;
  storage::SpaceReserve reserve_;
  std::vector<CheckpointEntry> entries_;
  std::string best_path_;   // empty if there is none
  std::string unrecorded_;  // a checkpoint that the journal does not name yet: the next try adds its record
};

// True if this run ever published a checkpoint: one is recorded in the journal, or was renamed in `folder`.
bool had_checkpoints(base::FileSystem& files, const std::string& folder, const std::string& journal_path);

// Tries the checkpoints of `folder` from the newest: read_checkpoint, then `accept`, which fails with the reason if the
// image is rejected. A damaged one is renamed to .bad. One that `accept` rejects is intact; it is renamed to
// .unread once an older one was accepted, since the run will need its name, and stays otherwise. If a rename fails, the
// reason says so. An unreadable one always stays. Exceptions of `accept` end the search. Returns the accepted path, or
// an empty one; `refused` lists the others. Requires the run's lock.
std::string restore_newest(base::FileSystem& files, const std::string& folder,
                           const std::function<base::Expected<void>(const CheckpointImage&)>& accept,
                           std::vector<RefusedCheckpoint>& refused);

// What `load` returns; fails as well with the text of what it throws, as where a field is of a later version: an error
// of JSON is one of the checkpoint's run.json. A lack of memory, and a policy whose process cannot go on now
// (Error{kPolicy}), is this process's fault, not the checkpoint's, and is thrown on.
base::Expected<void> try_load(const std::function<base::Expected<void>()>& load);

}  // namespace esper::tolaria
