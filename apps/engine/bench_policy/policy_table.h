#pragma once
// A report of `esper bench --scenario policy` as text for users.

#include <nlohmann/json_fwd.hpp>
#include <string>

namespace esper::engine::bench {

// Lines, without the last newline.
std::string policy_table(const nlohmann::ordered_json& report);

}  // namespace esper::engine::bench
