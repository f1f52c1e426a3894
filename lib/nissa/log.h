#pragma once
// Log messages on standard error, for what does not belong into a telemetry packet. Their text
// is escaped (base/text/printable.h), and one that cannot be written within a second is lost. Any thread.

#include <string_view>

namespace esper::nissa::log {

void info(std::string_view text);
void warning(std::string_view text);
void error(std::string_view text);

}  // namespace esper::nissa::log
