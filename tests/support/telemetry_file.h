#pragma once
// Packets that go into a telemetry file, and what comes back out of it.

#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "history/telemetry/jsonl_reader.h"
#include "leyline/telemetry/telemetry.h"

namespace esper::test {

inline leyline::TelemetryPacket packet_named(const std::string& id) {
  leyline::TelemetryPacket packet;
  packet.packet_id = id;
  return packet;
}

using PacketIds = std::vector<std::string>;

struct TelemetryContents {
  PacketIds ids;
  history::JsonlReport report;
};

// The file and the earlier ones that belong to it.
inline TelemetryContents read_telemetry(const std::filesystem::path& path) {
  TelemetryContents out;
  out.report =
      history::read_jsonl(path, [&](const nlohmann::json& packet) { out.ids.push_back(packet.at("packet_id")); });
  return out;
}

}  // namespace esper::test
