#pragma once
// The journal of one run as its process writes it: ordered records in files of bounded size. Each later file begins
// with what a resumed run needs from the earlier ones (a "segment" record: topology, lanes, best checkpoint), so that
// they need not be read. One thread at a time.

#include <cstdint>
#include <string>

#include "history/growth/growth_record.h"
#include "lanes/shape/lane_log.h"
#include "storage/journal/journal.h"

namespace esper::tolaria {

class RunJournal {
 public:
  // Reads the newest file; earlier ones only if that file does not begin with a segment record.
  RunJournal(base::FileSystem& files, const std::string& path, std::uint64_t file_bytes = storage::kJournalFileBytes);

  // Appends a JSON object as text. See storage::JournalWriter::append.
  void append(const std::string& json_text);

  bool is_file_full() const { return journal_.bytes() >= file_bytes_; }
  // Directly after the record of a checkpoint: begins a new file with the run's state at that point. See
  // storage::JournalWriter::rotate.
  void begin_file(history::RunPlace place, const leyline::Topology& topology, const std::string& best_checkpoint);

 private:
  std::uint64_t file_bytes_;
  storage::JournalWriter journal_;
  std::uint64_t records_ = 0;  // of the whole journal
  lanes::LaneLog lanes_;
};

}  // namespace esper::tolaria
