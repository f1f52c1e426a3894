#pragma once
// A run's growth, read back from its folder, whatever happened to the run. The one reader of it: every command that
// reports growth, continues with a run or forks it uses this one reader, including its doubts.

#include <string>
#include <vector>

#include "base/file_system.h"
#include "history/growth/growth_history.h"

namespace esper::history {

struct RunHistory {
  GrowthHistory history;
  // What is missing, as text: at which record, what is still valid, and the remedy if there is one.
  std::vector<std::string> gaps;
  std::string nothing;  // why the run's growth is unknown; else empty

  // Of the last record. Only if anything is known.
  RunPlace last() const { return history.records().back().place; }
};

// Of a run folder, whatever lies in it. Throws base::Error{kCheckpoint} where the file is no journal or a folder
// lies in its place, and IoError.
RunHistory read_journal(base::FileSystem& files, const std::string& run);

// The same, from the newest file of the journal on that begins at this place or before it: enough to rebuild the
// topology there and later.
RunHistory read_journal_since(base::FileSystem& files, const std::string& run, RunPlace place);

// The same for reports on growth, compared with the topologies of the newest four checkpoints that the journal
// names and the folder has (one that differs is a gap; another run's journal that names none of them, or the same
// topologies, is not found out): throws base::Error{kConfig} where there is no run, and kData, with the
// remedy, where nothing is known.
RunHistory read_run_history(const std::string& run);

}  // namespace esper::history
