#pragma once
// Reads telemetry.jsonl back, and the files before it (telemetry_files.h), whatever happened to their writer.

#include <cstddef>
#include <filesystem>
#include <functional>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "history/telemetry/thin_line.h"

namespace esper::history {

struct DamagedLine {
  std::size_t line = 0;  // from 1, of all files together
  std::string reason;
};

struct JsonlReport {
  std::size_t packets = 0;
  // Skipped: torn by a crash or a full disk, or no packet at all. The first kDamagedMoved of them.
  std::vector<DamagedLine> damaged;
  std::size_t damaged_total = 0;
  std::size_t missing_files = 0;  // earlier ones that were deleted

  static constexpr std::size_t kDamagedMoved = 1000;
};

// Calls on_packet for each line that holds a packet, in order: those of the earlier files, then those of `path`, which
// may be missing where an earlier one is there. Lines longer than 16 MiB, or with a block of zeros, are skipped and
// reported without being held; the zeros of a hole in a file are not read. With `wanted`, packets come without the
// metrics that it refuses, several times as fast. Throws base::Error{kData} if a file cannot be read.
JsonlReport read_jsonl(const std::filesystem::path& path, const std::function<void(const nlohmann::json&)>& on_packet,
                       const WantedMetric& wanted = {});

// The losses in a report as text.
std::vector<std::string> gaps_of(const JsonlReport& report);

// Whether an event of this name was reported; false where there is no telemetry.
bool has_event(const std::filesystem::path& path, std::string_view name);

}  // namespace esper::history
