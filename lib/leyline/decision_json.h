#pragma once
// A decision as JSON, exactly. decision_members.h reads it back. The fields have the names of command.h and
// assessment.h. Any thread.

#include <nlohmann/json_fwd.hpp>

#include "leyline/command.h"

namespace esper::leyline {

nlohmann::json decision_json(const Decision& decision);

}  // namespace esper::leyline
