#pragma once
// Seeds in the text of a network's class. Training thread; all of it reads the device.

#include <string>
#include <string_view>
#include <vector>

#include "porting/python/network_source.h"

namespace esper::porting {

// Of a statement in a method.
inline constexpr std::string_view kIndent = "        ";

// Whether a slot's seed is part of what evaluation runs: its alpha is not 0, or its units are the host's.
bool is_part(const kasmina::Slot& slot);

// What becomes of the feature x where that seed, no widening, is part of the network.
std::vector<std::string> seed_statements(const kasmina::Seed& seed);

// The last statement of a forward, in the data's units.
std::string return_statement(const NetworkSource& source, const std::string& outputs);

// The text of `class Network`: its seeds after `host`, the statements that make the rest of it.
std::string class_text(const NetworkSource& source, const std::vector<std::string>& host, const std::string& forward);

}  // namespace esper::porting
