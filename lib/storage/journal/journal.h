#pragma once
// An append-only list of records, each durable when append() returns, in files of bounded size: `<path>` is appended
// to,
// `<path>-000001`, `<path>-000002`, ... are the earlier ones, which never change and are never deleted. Layout of a
// file: the 8 bytes "ESPERJ1\n", then for each record its length (u32), XXH32 of the payload with the length as seed
// (u32), both little-endian, and the payload.
// A process killed or a power loss in the middle of an append leaves a torn tail, which readers skip and report.

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/file_system.h"

namespace esper::storage {

inline constexpr std::uint32_t kMaxJournalRecordBytes = 16u << 20;
// Beyond it the writer's owner should rotate(). Small, since a resumed run reads the newest file whole.
inline constexpr std::uint64_t kJournalFileBytes = 4u << 20;

enum class JournalTail {
  kClean,
  kTorn,     // ends in the middle of a record: an append that was cut off
  kCorrupt,  // a whole record that fails its checksum, an impossible length, or one too large that records follow
};

// Records that an earlier file lost.
struct JournalLoss {
  std::string file;                 // its path
  std::uint64_t dropped_bytes = 0;  // 0: the whole file is missing
};

struct JournalScan {
  std::uint64_t records = 0;        // of all files that were read
  std::uint64_t good_bytes = 0;     // of the newest file, up to the end of the last good record
  std::uint64_t dropped_bytes = 0;  // after it
  JournalTail tail = JournalTail::kClean;
  std::vector<JournalLoss> losses;  // of earlier files, in order
};

// Calls `visit` for each good record of all files, in order; the view ends with the call. A journal that does not exist
// is empty. Throws IoError, and Error{kCheckpoint} for a file that is no journal and for a folder. May run beside a
// writer (any thread or process): then the last record may look torn.
JournalScan scan_journal(base::FileSystem& file_system, const std::string& path,
                         const std::function<void(std::string_view)>& visit);

// The same from the newest file on whose first record `is_start` accepts; from the oldest one where it accepts none.
JournalScan scan_journal_from(base::FileSystem& file_system, const std::string& path,
                              const std::function<bool(std::string_view)>& is_start,
                              const std::function<void(std::string_view)>& visit);

// The first record of one file of a journal, without reading the others; nothing where it is not good or not there.
// Throws as scan_journal().
std::optional<std::string> first_journal_record(base::FileSystem& file_system, const std::string& file_path);

// One writer for one journal (hold the folder's lock); one thread at a time.
class JournalWriter {
 public:
  // Makes the file if needed; else cuts off the tail that a reader would skip. A corrupt tail is first kept as
  // `<path>.bad`, since good records may follow the bad one. Reads the newest file only.
  JournalWriter(base::FileSystem& file_system, const std::string& path);

  // Returns when the record is on the disk. After IoError the journal is as before, at the latest once the next
  // append or a new writer has cut off the rest; the caller may go on. At most kMaxJournalRecordBytes, not empty.
  void append(std::string_view payload);

  // Begins a new file with this record; the one so far becomes `<path>-<number>`. Whatever fails or ends the process
  // meanwhile, all records are there once; the first record of the new file may be missing then. After IoError the
  // caller may go on, and try again later.
  void rotate(std::string_view first_record);

  // Of the file that is appended to.
  std::uint64_t bytes() const { return good_bytes_; }

 private:
  JournalWriter(base::FileSystem& file_system, const std::string& path, const JournalScan& found);
  void cut_tail();
  void sync_folder();

  base::FileSystem* file_system_;
  std::string path_;
  base::File file_;
  std::uint64_t good_bytes_;
  bool tail_is_dirty_ = false;
  bool folder_is_dirty_ = false;  // a file got another name, which is not durable yet
};

}  // namespace esper::storage
