#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <optional>
#include <vector>

#include "base/error.h"
#include "storage/checksum.h"
#include "storage/file_tools.h"
#include "storage/journal/journal_files.h"
#include "storage/little_endian.h"
#include "storage/numbered_name.h"

namespace esper::storage {
namespace {

using base::File;
using base::FileSystem;
using base::IoError;
using base::PathKind;
using Visit = std::function<void(std::string_view)>;

constexpr std::size_t kBlockBytes = 1 << 20;
constexpr std::size_t kFirstBlockBytes = 4 << 10;  // where one record is read of a file that may be long

// Reads forward in blocks: a journal has many small records.
class BlockReader {
 public:
  BlockReader(File& file, std::uint64_t size, std::size_t block_bytes = kBlockBytes)
      : file_(file), block_bytes_(std::min<std::uint64_t>(size, block_bytes)) {}

  // Up to `length` bytes from `offset` on, less at the end of the file; valid up to the next call.
  Bytes at(std::uint64_t offset, std::size_t length) {
    if (offset < from_ || offset + length > from_ + filled_) fill(offset, length);
    const std::size_t skip = offset - from_;
    return Bytes(block_)
        .first(filled_)
        .subspan(std::min(skip, filled_))
        .first(std::min(length, filled_ - std::min(skip, filled_)));
  }

 private:
  void fill(std::uint64_t offset, std::size_t length) {
    block_.resize(std::max(length, block_bytes_));
    from_ = offset;
    filled_ = file_.read_at(offset, block_);
  }

  File& file_;
  const std::size_t block_bytes_;
  std::vector<std::byte> block_;
  std::uint64_t from_ = 0;
  std::size_t filled_ = 0;
};

// A power loss can leave the length of the first write without all of its bytes: zeros stand for those.
bool is_torn_magic(std::string_view start) {
  for (std::size_t i = 0; i < start.size(); ++i) {
    if (start[i] != kJournalMagic[i] && start[i] != '\0') return false;
  }
  return true;
}

JournalTail classify_magic(BlockReader& reader, const std::string& path, std::uint64_t size) {
  const std::string_view start = text_of(reader.at(0, kJournalMagic.size()));
  if (start == kJournalMagic) return JournalTail::kClean;
  if (size <= kJournalMagic.size() && is_torn_magic(start)) return JournalTail::kTorn;
  throw base::Error(base::ExitCode::kCheckpoint,
                    path + " is not a journal: it does not start with ESPERJ1; move it away to start a new one");
}

// Points `payload` at the record at `offset`.
JournalTail read_record(BlockReader& reader, std::uint64_t offset, std::uint64_t size, Bytes& payload) {
  const Bytes header = reader.at(offset, kRecordHeaderBytes);
  if (header.size() < kRecordHeaderBytes) return JournalTail::kTorn;
  const auto length = load_little_endian<std::uint32_t>(header);
  const auto expected = load_little_endian<std::uint32_t>(header.subspan(4));
  if (length == 0 || length > kMaxJournalRecordBytes) return JournalTail::kCorrupt;
  if (length > size - offset - kRecordHeaderBytes) return JournalTail::kTorn;
  payload = reader.at(offset + kRecordHeaderBytes, length);
  if (payload.size() < length) return JournalTail::kTorn;
  return hash32(payload, length) == expected ? JournalTail::kClean : JournalTail::kCorrupt;
}

// Whether a good record begins anywhere behind `offset`: an append that was cut off leaves none, a damaged length does.
// Also true where it is not known, after so many bytes of what only looked like one.
bool has_record_behind(BlockReader& reader, std::uint64_t offset, std::uint64_t size) {
  constexpr std::uint64_t kMostSearched = 256u << 20;
  std::uint64_t searched = 0;
  for (std::uint64_t at = offset + 1; at + kRecordHeaderBytes < size && searched < kMostSearched; ++at) {
    Bytes payload;
    if (read_record(reader, at, size, payload) == JournalTail::kClean) return true;
    searched += payload.size();
  }
  return searched >= kMostSearched;
}

// Stops after a record for which `visit` returns false.
JournalScan scan_open(File& file, const std::function<bool(std::string_view)>& visit) {
  JournalScan scan;
  const std::uint64_t size = file.size();
  BlockReader reader(file, size);
  scan.tail = size == 0 ? JournalTail::kClean : classify_magic(reader, file.path(), size);
  if (size >= kJournalMagic.size() && scan.tail == JournalTail::kClean) {
    scan.good_bytes = kJournalMagic.size();
    Bytes payload;
    while (scan.good_bytes < size) {
      scan.tail = read_record(reader, scan.good_bytes, size, payload);
      if (scan.tail != JournalTail::kClean) break;
      scan.good_bytes += kRecordHeaderBytes + payload.size();
      ++scan.records;
      if (!visit(text_of(payload))) break;
    }
  }
  if (scan.tail == JournalTail::kTorn && has_record_behind(reader, scan.good_bytes, size))
    scan.tail = JournalTail::kCorrupt;
  scan.dropped_bytes = size - scan.good_bytes;
  return scan;
}

std::optional<File> open_if_there(FileSystem& file_system, const std::string& path) {
  const auto kind = file_system.kind_of(path);
  if (kind == PathKind::kNothing) return std::nullopt;
  if (kind != PathKind::kFile) {
    throw base::Error(base::ExitCode::kCheckpoint, path + " is not a journal: it is " +
                                                       (kind == PathKind::kFolder ? "a folder" : "not a regular file") +
                                                       "; move it away to start a new one");
  }
  try {
    return file_system.open(path, base::OpenMode::kRead);
  } catch (const IoError& error) {  // it got its number just now
    if (error.error_number() != ENOENT) throw;
    return std::nullopt;
  }
}

JournalScan scan_to_end(File& file, const Visit& visit) {
  return scan_open(file, [&](std::string_view text) {
    visit(text);
    return true;
  });
}

// The name of a file may claim that any number came before it: more missing ones in a row than these are one loss.
constexpr std::uint64_t kMostListed = 100;

// Reads the earlier files from number `next` on, and moves `next` behind them.
void scan_earlier(FileSystem& file_system, const std::string& path, std::uint64_t& next, JournalScan& scan,
                  const Visit& visit) {
  for (const auto& [number, earlier] : earlier_journal_files(file_system, path)) {
    if (number < next) continue;
    if (number - next > kMostListed) {
      scan.losses.push_back({fmt::format("{} to -{}", earlier_journal_path(path, next), number - 1), 0});
      next = number;
    }
    for (; next < number; ++next) scan.losses.push_back({earlier_journal_path(path, next), 0});
    const auto part = scan_journal_file(file_system, earlier, visit);
    scan.records += part.records;
    if (part.dropped_bytes > 0) scan.losses.push_back({earlier, part.dropped_bytes});
    ++next;
  }
}

// `next`: the number of the first file to read.
JournalScan scan_files(FileSystem& file_system, const std::string& path, std::uint64_t next, const Visit& visit) {
  JournalScan scan;
  for (;;) {
    scan_earlier(file_system, path, next, scan, visit);
    auto newest = open_if_there(file_system, path);
    const auto earlier = earlier_journal_files(file_system, path);
    if (!earlier.empty() && earlier.back().number >= next) continue;  // the writer began a new one meanwhile
    if (!newest) return scan;
    const auto part = scan_to_end(*newest, visit);
    scan.records += part.records;
    scan.good_bytes = part.good_bytes;
    scan.dropped_bytes = part.dropped_bytes;
    scan.tail = part.tail;
    return scan;
  }
}

}  // namespace

std::string earlier_journal_path(const std::string& path, std::uint64_t number) {
  return NumberedName{path, ""}.of(number);
}

std::string next_journal_path(const std::string& path) { return path + ".next"; }

std::vector<EarlierFile> earlier_journal_files(FileSystem& file_system, const std::string& path) {
  const std::string folder = parent_of(path);
  if (file_system.kind_of(folder) != PathKind::kFolder) return {};
  const NumberedName names{path.substr(path.find_last_of('/') + 1), ""};
  std::vector<EarlierFile> found;
  for (const auto& entry : file_system.list(folder)) {
    const auto number = names.number_of(entry.name);
    if (number != 0) found.push_back({number, earlier_journal_path(path, number)});
  }
  std::ranges::sort(found, {}, &EarlierFile::number);
  return found;
}

std::optional<std::string> first_journal_record(FileSystem& file_system, const std::string& file_path) {
  auto file = open_if_there(file_system, file_path);
  const std::uint64_t size = file ? file->size() : 0;
  if (size == 0) return std::nullopt;
  BlockReader reader(*file, size, kFirstBlockBytes);
  Bytes record;
  if (classify_magic(reader, file->path(), size) != JournalTail::kClean) return std::nullopt;
  if (read_record(reader, kJournalMagic.size(), size, record) != JournalTail::kClean) return std::nullopt;
  return std::string(text_of(record));
}

JournalScan scan_journal_file(FileSystem& file_system, const std::string& path, const Visit& visit) {
  auto file = open_if_there(file_system, path);
  return file ? scan_to_end(*file, visit) : JournalScan{};
}

JournalScan scan_journal(FileSystem& file_system, const std::string& path, const Visit& visit) {
  return scan_files(file_system, path, 1, visit);
}

JournalScan scan_journal_from(FileSystem& file_system, const std::string& path,
                              const std::function<bool(std::string_view)>& is_start, const Visit& visit) {
  const auto accepts = [&](const std::string& file) {
    const auto first = first_journal_record(file_system, file);
    return first && is_start(*first);
  };
  const auto earlier = earlier_journal_files(file_system, path);
  if (earlier.empty()) return scan_files(file_system, path, 1, visit);
  if (accepts(path)) return scan_files(file_system, path, earlier.back().number + 1, visit);
  for (auto file = earlier.rbegin(); file != earlier.rend(); ++file) {
    if (accepts(file->path)) return scan_files(file_system, path, file->number, visit);
  }
  return scan_files(file_system, path, 1, visit);
}

}  // namespace esper::storage
