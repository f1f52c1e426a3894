#include "jobs/progress/telemetry_tail.h"

#include <sys/stat.h>

#include <algorithm>
#include <cerrno>

#include "base/file_system.h"
#include "storage/folder_walk.h"
#include "storage/numbered_name.h"

namespace esper::jobs {
namespace {

constexpr char kTelemetry[] = "telemetry.jsonl";
constexpr std::size_t kMostEntries = 10'000;  // of a run folder

// The newest of the files that the telemetry was continued from; empty where there is none.
std::string file_before(const std::string& folder) {
  const storage::NumberedName earlier{"telemetry", ".jsonl"};
  std::uint64_t newest = 0;
  for (const auto& entry : storage::walk_folder(folder, {.depth = 1, .entries = kMostEntries}).entries)
    if (entry.kind == base::PathKind::kFile) newest = std::max(newest, earlier.number_of(entry.path));
  return newest > 0 ? earlier.of(newest) : "";
}

}  // namespace

void TelemetryTail::look(const runs::FolderReader& folder, const std::string& path, const TakeLine& take) {
  const auto file = folder.open(kTelemetry);
  struct stat status{};
  if (::fstat(file.descriptor.number(), &status) < 0) throw base::IoError("stat", file.path, errno);
  const bool is_known = status.st_ino == inode_ && status.st_dev == device_ && offset_ <= file.size;
  if (!is_known) begin(folder, path, file.size, take);
  device_ = status.st_dev;
  inode_ = status.st_ino;
  read_on(file, kMostBytes, take);
}

// What the file itself leaves of kMostBytes is read from the one before it.
void TelemetryTail::begin(const runs::FolderReader& folder, const std::string& path, std::uint64_t size,
                          const TakeLine& take) {
  const std::uint64_t left = kMostBytes - std::min(size, kMostBytes);
  const std::string before = left > 0 ? file_before(path) : "";
  offset_ = 0;
  is_within_a_line_ = false;
  if (!before.empty()) read_on(folder.open(before), left, take);
  offset_ = 0;
  is_within_a_line_ = false;
}

void TelemetryTail::read_on(const runs::FolderReader::OpenFile& file, std::uint64_t most, const TakeLine& take) {
  if (file.size > offset_ + most) {
    offset_ = file.size - most;
    is_within_a_line_ = true;  // most probably, and else one line is lost
  }
  const std::string text = file.read(offset_, most);
  const auto end = text.rfind('\n');
  if (end != std::string::npos) {
    take_lines(std::string_view(text).substr(0, end + 1), take);
    offset_ += end + 1;
  } else if (text.size() > kMostLineBytes) {
    offset_ += text.size();
    is_within_a_line_ = true;
  }
}

// text: ends with a line.
void TelemetryTail::take_lines(std::string_view text, const TakeLine& take) {
  while (!text.empty()) {
    const auto end = text.find('\n');
    const auto line = text.substr(0, end);
    if (!is_within_a_line_ && line.size() <= kMostLineBytes) take(line);
    is_within_a_line_ = false;
    text.remove_prefix(end + 1);
  }
}

}  // namespace esper::jobs
