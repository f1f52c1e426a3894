#pragma once
// A network's layers and slots as tables. Any thread.

#include <string>

#include "kasmina/network/network_summary.h"

namespace esper::engine {

// Whole lines.
std::string model_text(const kasmina::NetworkSummary& summary);

}  // namespace esper::engine
