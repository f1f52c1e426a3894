#pragma once
// Reads telemetry.jsonl back, whatever happened to its writer.

#include <cstddef>
#include <filesystem>
#include <functional>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

namespace esper::nissa {

struct DamagedLine {
  std::size_t line = 0;  // from 1
  std::string reason;
};

struct JsonlReport {
  std::size_t packets = 0;
  // Skipped: torn by a crash or a full disk, or no packet at all. The first kDamagedKept of them.
  std::vector<DamagedLine> damaged;
  std::size_t damaged_total = 0;

  static constexpr std::size_t kDamagedKept = 1000;
};

// Calls on_packet for each line that holds a packet, in order. Lines longer than 16 MiB are skipped and reported
// without being held. Throws leyline::Error{kData} if the file cannot be read.
JsonlReport read_jsonl(const std::filesystem::path& path, const std::function<void(const nlohmann::json&)>& on_packet);

}  // namespace esper::nissa
