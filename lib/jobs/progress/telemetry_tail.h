#pragma once
// The end of a run's telemetry, and then what is appended to it. One thread.
//
// The folder may hold anything: no link is followed, only regular files are opened, and each look reads a limited
// number of bytes. Lines that are longer than kMostLineBytes are skipped.

#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "runs/run_folder_reader.h"

namespace esper::jobs {

class TelemetryTail {
 public:
  static constexpr std::uint64_t kMostBytes = 4 << 20;  // of one look
  static constexpr std::size_t kMostLineBytes = 1 << 20;

  using TakeLine = std::function<void(std::string_view line)>;
  // The whole lines since the last look, oldest first. The first look begins kMostBytes before the end at the earliest,
  // and so does any other one that would have to read more. Where the file was replaced, lines may come again. Throws
  // IoError where the file cannot be read.
  void look(const runs::FolderReader& folder, const std::string& path, const TakeLine& take);

 private:
  void begin(const runs::FolderReader& folder, const std::string& path, std::uint64_t size, const TakeLine& take);
  void read_on(const runs::FolderReader::OpenFile& file, std::uint64_t most, const TakeLine& take);
  void take_lines(std::string_view text, const TakeLine& take);

  dev_t device_ = 0;
  ino_t inode_ = 0;                // 0: there was no look yet
  std::uint64_t offset_ = 0;       // what was read
  bool is_within_a_line_ = false;  // what comes next continues a line that is skipped
};

}  // namespace esper::jobs
