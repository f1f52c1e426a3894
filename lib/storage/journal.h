#pragma once
// An append-only file of records, each durable when append() returns. Layout: the 8 bytes "ESPERJ1\n", then for each
// record its length (u32), XXH32 of the payload with the length as seed (u32), both little-endian, and the payload.
// A process killed or a power loss in the middle of an append leaves a torn tail, which readers skip and report.

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "leyline/file_system.h"

namespace esper::storage {

inline constexpr std::uint32_t kMaxJournalRecordBytes = 16u << 20;

enum class JournalTail {
  kClean,
  kTorn,     // ends in the middle of a record: an append that was cut off
  kCorrupt,  // a whole record that fails its checksum, or an impossible length
};

struct JournalScan {
  std::uint64_t records = 0;
  std::uint64_t good_bytes = 0;     // up to the end of the last good record
  std::uint64_t dropped_bytes = 0;  // after it
  JournalTail tail = JournalTail::kClean;
};

// Calls `visit` for each good record, in order; the view ends with the call. A file that does not exist is an empty
// journal. Throws IoError, and Error{kCheckpoint} for a file that is no journal and for a folder. May run beside a
// writer (any thread or process): then the last record may look torn.
JournalScan scan_journal(leyline::FileSystem& file_system, const std::string& path,
                         const std::function<void(std::string_view)>& visit);

// One writer for one file (hold the folder's lock); one thread at a time.
class JournalWriter {
 public:
  // Makes the file if needed; else cuts off the tail that a reader would skip. A corrupt tail is first kept as
  // `<path>.bad`, since good records may follow the bad one.
  JournalWriter(leyline::FileSystem& file_system, const std::string& path);

  // Returns when the record is on the disk. After IoError the journal is as before, at the latest once the next
  // append or a new writer has cut off the rest; the caller may go on. At most kMaxJournalRecordBytes, not empty.
  void append(std::string_view payload);

  // What opening found.
  const JournalScan& found() const { return found_; }

 private:
  void cut_tail();

  JournalScan found_;
  leyline::File file_;
  std::uint64_t good_bytes_;
  bool tail_is_dirty_ = false;
};

}  // namespace esper::storage
