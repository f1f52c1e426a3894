#pragma once
// One field's value, type and limits as text.

#include <nlohmann/json.hpp>
#include <string>

#include "config/fields/field_table.h"

namespace esper::config {

// Durations, lengths and enums become strings. A section becomes null.
nlohmann::ordered_json field_json(const FieldValue& value);
// As in a run file; loads back to the same value.
std::string field_yaml(const FieldValue& value);
// For users: "whole number", "true or false", "one of auto, fp32, bf16, fp16", ...
std::string type_text(const FieldValue& value);
// ">= 1", "1 to 64", or empty.
std::string limits_text(const Limits& limits);
// A number without needless digits: 1000000, 0.9999, 1e-16.
std::string number_text(double value);

}  // namespace esper::config
