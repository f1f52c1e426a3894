#pragma once
// Messages for whoever watches the process, on stderr: what does not belong into a telemetry packet. Any thread.

#include <string_view>

namespace esper::nissa::log {

void info(std::string_view text);
void warning(std::string_view text);
void error(std::string_view text);

}  // namespace esper::nissa::log
