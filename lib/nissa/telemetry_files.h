#pragma once
// The files of one run's telemetry: `telemetry.jsonl` is appended to; `telemetry-000001.jsonl`,
// `telemetry-000002.jsonl`,
// ... are the earlier ones, which do not change any more. One writer; any number of concurrent readers.

#include <cstdint>
#include <filesystem>
#include <string>
#include <system_error>
#include <vector>

#include "base/descriptor.h"

namespace esper::nissa {

struct EarlierTelemetry {
  std::uint64_t number = 0;  // from 1
  std::filesystem::path path;
  std::uint64_t bytes = 0;
  bool is_file = true;
};

// Those of the file `path` ("telemetry.jsonl"), ascending; also what has such a name and is no file.
std::vector<EarlierTelemetry> earlier_telemetry(const std::filesystem::path& path);
// failure: why the folder could not be read to its end, so that some may be missing.
std::vector<EarlierTelemetry> earlier_telemetry(const std::filesystem::path& path, std::error_code& failure);

// `path` or an earlier file of it, opened as open(2) does with `flags`; it may lie in a run folder from elsewhere. Not
// open, with errno set, where that fails; throws storage::UnsafePath for what is no regular file of the folder itself.
base::Descriptor open_telemetry(const std::filesystem::path& path, int flags);

// True where an earlier file of `path` is there, or anything of that name: what is no file is refused when it is read.
bool has_telemetry(const std::filesystem::path& path);

struct TelemetryLimits {
  std::uint64_t file_bytes = 64ull << 20;  // a file that would grow beyond it becomes an earlier one
  std::uint64_t total_bytes = 0;           // of all files; 0: no limit
};

struct TelemetryDropped {
  std::uint64_t files = 0, bytes = 0;
  std::error_code failure{};  // why a file that was to be deleted stays; the last one's
};

// Renames `path` to the next number, then deletes the oldest files where all and one more full file would exceed the
// limit; never the one just renamed. A process that is killed in between leaves every line in exactly one file; what
// was not deleted is at the next call. Returns an errno: 0, or why nothing was renamed.
int rotate_telemetry(const std::filesystem::path& path, const TelemetryLimits& limits, TelemetryDropped& dropped);

}  // namespace esper::nissa
