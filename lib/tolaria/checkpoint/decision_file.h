#pragma once
// The file of a run's decisions as its process writes it: one line a record, appended in order with the saves, so that
// a checkpoint on the disk has all decisions before it in the file. One thread at a time.

#include <cstdint>
#include <optional>
#include <string>

#include "base/file_system.h"
#include "leyline/decision_record.h"

namespace esper::tolaria {

class DecisionFile {
 public:
  // Opened with the first record.
  DecisionFile(base::FileSystem& files, std::string path) : files_(&files), path_(std::move(path)) {}

  // A line that an earlier process, or an earlier failure, left unfinished is ended first. Throws IoError, EFBIG where
  // the file or the line would exceed its limit (history/growth/decision_log.h); the caller may go on.
  void append(const leyline::DecisionLine& record);
  // Returns when what was appended is on the disk. Throws IoError; the next call writes it again.
  void sync();

 private:
  void open();
  void write_again();

  base::FileSystem* files_;
  std::string path_;
  std::optional<base::File> file_;
  std::uint64_t bytes_ = 0;
  bool is_torn_ = false;         // the file ends within a line
  bool is_dirty_ = false;        // something is not on the disk yet
  bool failed_to_sync_ = false;  // so a further sync alone would not bring it there
};

}  // namespace esper::tolaria
