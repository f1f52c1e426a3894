#pragma once
// A report of `esper bench` as text for users.

#include <nlohmann/json_fwd.hpp>
#include <string>

namespace esper::engine::bench {

// Both of the whole report; lines, without the last newline.
std::string table_text(const nlohmann::ordered_json& report);
// Of a report that only counted.
std::string counts_text(const nlohmann::ordered_json& report);

}  // namespace esper::engine::bench
