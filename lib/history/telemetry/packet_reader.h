#pragma once
// A line of telemetry.jsonl as the packet that it was. Any thread.

#include <nlohmann/json_fwd.hpp>

#include "leyline/telemetry/telemetry_packet.h"

namespace esper::history {

// From a document of read_jsonl() or nissa::append_json_line(). Metrics and events whose names this version does not
// have are left out, as is whatever has another type than it should have.
leyline::TelemetryPacket packet_from(const nlohmann::json& document);

}  // namespace esper::history
