#pragma once
// Responses as the server writes them. Any thread.

#include <string>
#include <string_view>

#include "http/message.h"

namespace esper::http {

enum class AfterResponse { kKeepOpen, kClose };

// Status line and headers, with the blank line at the end. ESPER_CHECK: the status is 200 to 599, no header holds a
// line end, and none that the server sets itself (lengths, Connection) is among them.
std::string response_head(const Response& response, AfterResponse after);

// Whether a response of this status may have a body.
bool may_have_body(int status);

// {"error": "..."}
Response error_response(int status, std::string_view reason);

}  // namespace esper::http
