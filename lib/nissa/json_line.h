#pragma once
// A packet as one line of JSON.

#include <string>

#include "leyline/telemetry/telemetry_packet.h"

namespace esper::nissa {

// Appends the packet and a newline to out. The keys are those of the packet; level and status are their names ("INFO",
// "HEALTHY"). A number is the shortest text that reads back as the same double. JSON has no infinities and no NaN: a
// value that is not finite is null. Invalid UTF-8 is replaced by U+FFFD, one for each ill-formed part; what could steer
// a terminal (base/text/printable.h) is a \u escape.
void append_json_line(const leyline::TelemetryPacket& packet, std::string& out);

}  // namespace esper::nissa
