#pragma once
// Writes a run's black box: a ring of records in a file that is mapped into memory. A record is in the file as soon as
// add() has returned, also if the process is killed then; one that was being written is recognised as torn. One writer
// for a run folder (hold its lock), one thread.

#include <cstdint>
#include <string>
#include <string_view>

#include "history/black_box/black_box_record.h"
#include "storage/mapped_file.h"

namespace esper::history {

class BlackBoxWriter {
 public:
  // Continues the run folder's black box, or makes one. Throws IoError where that cannot be: no space, no folder, a
  // link in its place, a file system without shared mappings.
  explicit BlackBoxWriter(const std::string& run_folder);
  BlackBoxWriter(const BlackBoxWriter&) = delete;
  BlackBoxWriter& operator=(const BlackBoxWriter&) = delete;

  // Why the file that was there was not continued; empty: it was, or there was none.
  const std::string& replaced() const { return replaced_; }

  // Sets number, process and checksum. No allocation, no system call.
  void add(BlackBoxRecord record) noexcept;

 private:
  void open();

  storage::MappedFile file_;
  std::uint64_t last_ = 0;  // number of the newest record
  std::uint32_t process_;
  std::string replaced_;
};

// A record of an event; `text` is cut off where it is too long.
BlackBoxRecord black_box_event(std::string_view text);

}  // namespace esper::history
