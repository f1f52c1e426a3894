#pragma once
// What drills showed, for people and for programs. Any thread.

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "drill/run_drill.h"

namespace esper::drill {

// docs/drill_scorecard.schema.json is its JSON schema. build: what names this esper. runs: the folder where the runs
// are kept; empty: they are not.
nlohmann::ordered_json scorecard(const std::vector<DrillResult>& results, const std::string& build,
                                 const std::string& runs);
// A line for each drill, with its failures below it, and the sum.
std::string scorecard_text(const std::vector<DrillResult>& results);

bool none_failed(const std::vector<DrillResult>& results);

}  // namespace esper::drill
