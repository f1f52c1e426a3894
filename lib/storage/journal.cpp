#include "storage/journal.h"

#include <array>
#include <vector>

#include "leyline/error.h"
#include "storage/atomic_publish.h"
#include "storage/checksum.h"
#include "storage/file_tools.h"
#include "storage/little_endian.h"

namespace esper::storage {
namespace {

using leyline::File;
using leyline::FileSystem;
using leyline::OpenMode;

constexpr std::string_view kMagic = "ESPERJ1\n";
constexpr std::size_t kRecordHeaderBytes = 8;
constexpr std::size_t kCopyBytes = 1 << 20;

// A power loss can leave the length of the first write without all of its bytes: zeros stand for those.
bool is_torn_magic(std::string_view start) {
  for (std::size_t i = 0; i < start.size(); ++i) {
    if (start[i] != kMagic[i] && start[i] != '\0') return false;
  }
  return true;
}

JournalTail classify_magic(File& file, std::uint64_t size) {
  std::array<std::byte, kMagic.size()> buffer;
  const std::string_view start = text_of(Bytes(buffer).first(file.read_at(0, buffer)));
  if (start == kMagic) return JournalTail::kClean;
  if (size <= kMagic.size() && is_torn_magic(start)) return JournalTail::kTorn;
  throw leyline::Error(leyline::ExitCode::kCheckpoint,
                       file.path() + " is no journal: it does not start with ESPERJ1; move it away to start a new one");
}

// Reads the record at `offset` into `payload`.
JournalTail read_record(File& file, std::uint64_t offset, std::uint64_t size, std::vector<std::byte>& payload) {
  if (offset == size) return JournalTail::kClean;
  std::array<std::byte, kRecordHeaderBytes> header;
  if (file.read_at(offset, header) < header.size()) return JournalTail::kTorn;
  const auto length = load_little_endian<std::uint32_t>(Bytes(header));
  if (length == 0 || length > kMaxJournalRecordBytes) return JournalTail::kCorrupt;
  if (length > size - offset - kRecordHeaderBytes) return JournalTail::kTorn;
  payload.resize(length);
  if (file.read_at(offset + kRecordHeaderBytes, payload) < length) return JournalTail::kTorn;
  const auto expected = load_little_endian<std::uint32_t>(Bytes(header).subspan(4));
  return hash32(payload, length) == expected ? JournalTail::kClean : JournalTail::kCorrupt;
}

JournalScan scan_open(File& file, const std::function<void(std::string_view)>& visit) {
  JournalScan scan;
  const std::uint64_t size = file.size();
  scan.tail = size == 0 ? JournalTail::kClean : classify_magic(file, size);
  if (size >= kMagic.size() && scan.tail == JournalTail::kClean) {
    scan.good_bytes = kMagic.size();
    std::vector<std::byte> payload;
    while (scan.good_bytes < size) {
      scan.tail = read_record(file, scan.good_bytes, size, payload);
      if (scan.tail != JournalTail::kClean) break;
      visit(text_of(payload));
      scan.good_bytes += kRecordHeaderBytes + payload.size();
      ++scan.records;
    }
  }
  scan.dropped_bytes = size - scan.good_bytes;
  return scan;
}

void keep_tail(FileSystem& file_system, const std::string& path, std::uint64_t from) {
  auto file = file_system.open(path, OpenMode::kRead);
  publish_file(file_system, free_name(file_system, path + ".bad"), [&](const ByteSink& sink) {
    std::vector<std::byte> chunk(kCopyBytes);
    for (std::uint64_t offset = from;;) {
      const std::size_t got = file.read_at(offset, chunk);
      if (got == 0) break;
      sink(Bytes(chunk).first(got));
      offset += got;
    }
  });
}

// The journal, open for appending, with nothing behind its last good record.
File open_clean(FileSystem& file_system, const std::string& path, const JournalScan& found) {
  if (found.tail == JournalTail::kCorrupt) keep_tail(file_system, path, found.good_bytes);
  auto file = file_system.open(path, OpenMode::kAppend);
  if (found.dropped_bytes > 0) file.truncate(found.good_bytes);
  if (found.good_bytes == 0) file.write(bytes_of(kMagic));
  if (found.dropped_bytes > 0 || found.good_bytes == 0) {
    file.sync();
    file_system.sync_folder(parent_of(path));
  }
  return file;
}

}  // namespace

JournalScan scan_journal(FileSystem& file_system, const std::string& path,
                         const std::function<void(std::string_view)>& visit) {
  const auto kind = file_system.kind_of(path);
  if (kind == leyline::PathKind::kNothing) return {};
  if (kind == leyline::PathKind::kFolder) {
    throw leyline::Error(leyline::ExitCode::kCheckpoint,
                         path + " is no journal: it is a folder; move it away to start a new one");
  }
  auto file = file_system.open(path, OpenMode::kRead);
  return scan_open(file, visit);
}

JournalWriter::JournalWriter(FileSystem& file_system, const std::string& path)
    : found_(scan_journal(file_system, path, [](std::string_view) {})),
      file_(open_clean(file_system, path, found_)),
      good_bytes_(found_.good_bytes == 0 ? kMagic.size() : found_.good_bytes) {}

void JournalWriter::cut_tail() {
  file_.truncate(good_bytes_);
  file_.sync();
  tail_is_dirty_ = false;
}

void JournalWriter::append(std::string_view payload) {
  ESPER_CHECK(!payload.empty() && payload.size() <= kMaxJournalRecordBytes, "a journal record has 1 byte to 16 MiB");
  if (tail_is_dirty_) cut_tail();
  const auto length = static_cast<std::uint32_t>(payload.size());
  std::vector<std::byte> record;
  record.reserve(kRecordHeaderBytes + payload.size());
  append_little_endian(record, length);
  append_little_endian(record, hash32(bytes_of(payload), length));
  const Bytes body = bytes_of(payload);
  record.insert(record.end(), body.begin(), body.end());
  tail_is_dirty_ = true;
  file_.write(record);
  file_.sync();
  good_bytes_ += record.size();
  tail_is_dirty_ = false;
}

}  // namespace esper::storage
