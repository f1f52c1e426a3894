#pragma once
// The names of a journal's files, and the bytes of one. For journal.cpp and journal_reader.cpp. Any thread.

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/file_system.h"
#include "storage/journal/journal.h"

namespace esper::storage {

inline constexpr std::string_view kJournalMagic = "ESPERJ1\n";
inline constexpr std::size_t kRecordHeaderBytes = 8;

struct EarlierFile {
  std::uint64_t number = 0;  // from 1
  std::string path;
};

// `<path>-<number>`, ascending. None where the folder does not exist.
std::vector<EarlierFile> earlier_journal_files(base::FileSystem& file_system, const std::string& path);

// "journal-000001"
std::string earlier_journal_path(const std::string& path, std::uint64_t number);

// Where a new file waits until the one before it has its number.
std::string next_journal_path(const std::string& path);

// Of one file, which may be missing.
JournalScan scan_journal_file(base::FileSystem& file_system, const std::string& path,
                              const std::function<void(std::string_view)>& visit);

}  // namespace esper::storage
