#include "storage/journal/journal.h"

#include <vector>

#include "base/error.h"
#include "storage/atomic_publish.h"
#include "storage/checksum.h"
#include "storage/file_tools.h"
#include "storage/journal/journal_files.h"
#include "storage/little_endian.h"
#include "storage/numbered_name.h"

namespace esper::storage {
namespace {

using base::File;
using base::FileSystem;
using base::OpenMode;
using base::PathKind;

constexpr std::size_t kCopyBytes = 1 << 20;

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

// Of a rotation that was cut off only the new file's first record is lost, which repeats what the earlier ones hold.
JournalScan scan_newest(FileSystem& file_system, const std::string& path) {
  const std::string next = next_journal_path(path);
  if (file_system.kind_of(next) != PathKind::kNothing) file_system.remove(next);
  return scan_journal_file(file_system, path, [](std::string_view) {});
}

// The journal, open for appending, with nothing behind its last good record.
File open_clean(FileSystem& file_system, const std::string& path, const JournalScan& found) {
  if (found.tail == JournalTail::kCorrupt) keep_tail(file_system, path, found.good_bytes);
  auto file = file_system.open(path, OpenMode::kAppend);
  if (found.dropped_bytes > 0) file.truncate(found.good_bytes);
  if (found.good_bytes == 0) file.write(bytes_of(kJournalMagic));
  if (found.dropped_bytes > 0 || found.good_bytes == 0) {
    file.sync();
    file_system.sync_folder(parent_of(path));
  }
  return file;
}

// Throws EEXIST rather than replace a file of records.
void keep_as_earlier_file(FileSystem& file_system, const std::string& path) {
  const auto earlier = earlier_journal_files(file_system, path);
  const auto number = earlier.empty() ? 1 : earlier.back().number + 1;
  const auto target = earlier_journal_path(path, number);
  if (number > NumberedName::kLargest || file_system.kind_of(target) != PathKind::kNothing)
    throw base::IoError("rename", target, EEXIST);
  file_system.rename(path, target);
}

std::vector<std::byte> record_of(std::string_view payload) {
  ESPER_CHECK(!payload.empty() && payload.size() <= kMaxJournalRecordBytes, "a journal record has 1 byte to 16 MiB");
  const auto length = static_cast<std::uint32_t>(payload.size());
  std::vector<std::byte> record;
  record.reserve(kRecordHeaderBytes + payload.size());
  append_little_endian(record, length);
  append_little_endian(record, hash32(bytes_of(payload), length));
  const Bytes body = bytes_of(payload);
  record.insert(record.end(), body.begin(), body.end());
  return record;
}

}  // namespace

JournalWriter::JournalWriter(FileSystem& file_system, const std::string& path)
    : JournalWriter(file_system, path, scan_newest(file_system, path)) {}

JournalWriter::JournalWriter(FileSystem& file_system, const std::string& path, const JournalScan& found)
    : file_system_(&file_system),
      path_(path),
      file_(open_clean(file_system, path, found)),
      good_bytes_(found.good_bytes == 0 ? kJournalMagic.size() : found.good_bytes) {}

void JournalWriter::cut_tail() {
  file_.truncate(good_bytes_);
  file_.sync();
  tail_is_dirty_ = false;
}

// What is appended to a file whose name is not durable could be lost with the name.
void JournalWriter::sync_folder() {
  file_system_->sync_folder(parent_of(path_));
  folder_is_dirty_ = false;
}

void JournalWriter::append(std::string_view payload) {
  const auto record = record_of(payload);
  if (folder_is_dirty_) sync_folder();
  if (tail_is_dirty_) cut_tail();
  tail_is_dirty_ = true;
  file_.write(record);
  file_.sync();
  good_bytes_ += record.size();
  tail_is_dirty_ = false;
}

// The new file is whole before the old one gives up its name, and that is durable before the new one takes it: at no
// instant, and after no power loss, does the new one replace the old one. Until the end the old one is appended to.
void JournalWriter::rotate(std::string_view first_record) {
  const auto record = record_of(first_record);
  if (tail_is_dirty_) cut_tail();
  const std::string next = next_journal_path(path_);
  publish_file(*file_system_, next, [&](const ByteSink& sink) {
    sink(bytes_of(kJournalMagic));
    sink(record);
  });
  auto fresh = file_system_->open(next, OpenMode::kAppend);
  if (file_system_->kind_of(path_) != PathKind::kNothing) {  // else an attempt before this one came so far
    keep_as_earlier_file(*file_system_, path_);
    folder_is_dirty_ = true;
  }
  sync_folder();
  file_system_->rename(next, path_);
  file_ = std::move(fresh);
  good_bytes_ = kJournalMagic.size() + record.size();
  folder_is_dirty_ = true;
  sync_folder();
}

}  // namespace esper::storage
