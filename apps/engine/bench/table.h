#pragma once
// A report of `esper bench` as text for users.

#include <nlohmann/json_fwd.hpp>
#include <string>

namespace esper::engine::bench {

// The lines on top: scenario, processor, threads.
std::string heading(const nlohmann::ordered_json& report);
// What was not run and why, a line each.
std::string refused_text(const nlohmann::ordered_json& report);
// Of whole epochs, or why there are none.
std::string epoch_text(const nlohmann::ordered_json& report);
// What prints it adds one.
std::string without_newline(std::string text);

// Both of the whole report; lines, without the last newline.
std::string table_text(const nlohmann::ordered_json& report);
// Of a report that only counted.
std::string counts_text(const nlohmann::ordered_json& report);

}  // namespace esper::engine::bench
