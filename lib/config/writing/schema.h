#pragma once
// The configuration described for others: editors and people. configs/schema.json and docs/config.md are these texts.

#include <nlohmann/json_fwd.hpp>
#include <string>

namespace esper::config {

// JSON Schema, draft 2020-12.
nlohmann::ordered_json config_json_schema();
// Markdown: one table for each section.
std::string config_markdown();

}  // namespace esper::config
