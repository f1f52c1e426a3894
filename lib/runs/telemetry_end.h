#pragma once
// The beginning and the end of a run's telemetry, without reading what lies between. Any thread; safe while the run
// writes.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "runs/run_folder_reader.h"
#include "runs/run_record.h"

namespace esper::runs {

struct TelemetryStart {
  std::string timestamp;  // of the first packet; empty where it cannot be read
  std::string version;    // of Esper, where the run recorded it
};

// How a process ended by its own record (event tolaria.run_finished).
struct RecordedEnd {
  std::optional<int> exit_code;  // none: with an error
  std::string reason;
};

struct TelemetryEnd {
  std::string timestamp;                   // of the last whole packet; empty: there is none
  std::optional<RecordedEnd> end;          // where that packet has it
  std::optional<Validation> epoch;         // the newest epoch that was reported, and its validation figures
  std::optional<std::int64_t> best_epoch;  // the run's best one by then; none where that epoch does not say it
};

// files: oldest first. At most 4 KiB of the oldest one, and 4 MiB from the end of the newest ones, are read. What is
// missing, damaged or beyond that is empty. kTimestamp leaves end and epoch empty, which takes a fraction of the time.
// Throw IoError.
using OpenFiles = std::vector<FolderReader::OpenFile>;
// is_first: whether the oldest of them is the run's first; of another one's first packet the time is taken only where
// the run began in it.
TelemetryStart read_telemetry_start(const OpenFiles& files, bool is_first);
enum class EndDetail { kTimestamp, kAll };
TelemetryEnd read_telemetry_end(const OpenFiles& files, EndDetail detail);
// The figures of an earlier epoch, as it was reported last. Throws IoError.
std::optional<Validation> read_telemetry_epoch(const OpenFiles& files, std::int64_t epoch);
// The epoch that the run's process trains, counted from 1: the one after an epoch whose figures are the newest packet;
// of another packet, which may be older than the epoch's first step, at least the epochs completed by then. Nothing
// where there is no packet. Throws IoError.
std::optional<std::int64_t> read_reached_epoch(const OpenFiles& files);

}  // namespace esper::runs
