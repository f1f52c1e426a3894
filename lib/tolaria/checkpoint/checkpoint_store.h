#pragma once
// The checkpoints of one run: publish, remember in the journal, keep the right ones, find the newest good one.
// One thread at a time.

#include <functional>
#include <string>
#include <vector>

#include "base/expected.h"
#include "config/run_config.h"
#include "tolaria/checkpoint/checkpoint.h"
#include "tolaria/checkpoint/run_journal.h"

namespace esper::tolaria {

struct CheckpointEntry {
  std::string path;
  std::int64_t step = 0;
  std::uint32_t epoch = 0;  // epochs completed
};

struct RefusedCheckpoint {
  std::string path, reason;
};

class CheckpointStore {
 public:
  // folder: the run's checkpoints/; journal: the run's. Reads what is there.
  CheckpointStore(base::FileSystem& files, std::string folder, const std::string& journal_path,
                  config::CheckpointConfig config, std::uint64_t journal_file_bytes = storage::kJournalFileBytes);

  enum class Rank { kOrdinary, kBest };
  struct Published {
    CheckpointEntry entry;
    std::uint64_t bytes = 0;  // 0: it was there already
    std::string not_deleted;  // why a superseded one is still there; the next publish tries again
    std::string not_rotated;  // why the journal, which is long enough, did not begin a new file; so does this
  };
  // Publishes, records, then deletes what need not be kept. What is under the name already stays if it is whole and the
  // same state, else it makes room: as `<name>.bad` where it is damaged, as `<name>.unread` where it is whole (of
  // another configuration) or could not be read. Throws IoError; then nothing was deleted, and at the name is either
  // nothing new or all of it.
  Published publish(const CheckpointImage& image, Rank rank);

  // What restore_newest passed over and left under its name, since it may be whole: it is neither counted nor deleted
  // from here on.
  void protect(const std::vector<RefusedCheckpoint>& refused);

  // Oldest first; only what is published, without links and what is spared.
  const std::vector<CheckpointEntry>& entries() const { return entries_; }

  // Appends a note to the run's journal (a JSON object as text).
  void record(const std::string& json_text) { journal_.append(json_text); }

 private:
  bool holds(const CheckpointEntry& entry, const CheckpointInfo& info);
  void list(const CheckpointEntry& entry);
  std::string delete_superseded();
  std::string rotate_journal(const CheckpointImage& image);

  base::FileSystem& files_;
  std::string folder_;
  config::CheckpointConfig config_;
  RunJournal journal_;
  std::vector<CheckpointEntry> entries_;
  std::string best_path_;  // empty where there is none
};

// The published checkpoints of a folder, oldest first; also a link or the like under such a name, which cannot be read.
// Beside a writer, too.
std::vector<CheckpointEntry> list_checkpoints(base::FileSystem& files, const std::string& folder);
// The name of the newest one that was the best when its state was taken: its own run.json says so, whatever became of
// the journal. Where none says so, the one that the journal noted last as the best, if it is still there; empty if that
// is not. Beside a writer, too.
std::string best_checkpoint(base::FileSystem& files, const std::string& folder, const std::string& journal_path);

// The one that the journal recorded last as the best, whether it is still there or not; empty where it records none.
std::string best_by_journal(base::FileSystem& files, const std::string& journal_path);

// Whether this run published a checkpoint once: one is recorded in the journal, or was set aside in `folder`.
bool had_checkpoints(base::FileSystem& files, const std::string& folder, const std::string& journal_path);

// Tries the checkpoints of `folder` from the newest on: read_checkpoint, then `accept`, which fails with the reason if
// the image will not do. A damaged one is renamed to .bad; one that `accept` refuses is whole, and is renamed to
// .unread once an older one was taken, since the run will need its name; where none was taken it stays. Where a rename
// fails the reason says so. One that is unreadable always stays. What `accept` throws ends the search. Gives the path
// taken, or an empty one; `refused` says what was passed over. Needs the run's lock.
std::string restore_newest(base::FileSystem& files, const std::string& folder,
                           const std::function<base::Expected<void>(const CheckpointImage&)>& accept,
                           std::vector<RefusedCheckpoint>& refused);

// What `load` returns; fails as well with the text of what it throws, as where a field is of a later version. A lack of
// memory is this process's trouble, not the checkpoint's, and is thrown on.
base::Expected<void> try_load(const std::function<base::Expected<void>()>& load);

}  // namespace esper::tolaria
