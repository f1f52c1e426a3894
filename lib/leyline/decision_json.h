#pragma once
// A decision as JSON, both ways and exactly: for controllers in other processes, and for the log of decisions. The
// fields have the names of command.h and assessment.h; base/text/json_struct.h says what is refused. Any thread.

#include <nlohmann/json_fwd.hpp>

#include "base/expected.h"
#include "leyline/command.h"

namespace esper::leyline {

nlohmann::json decision_json(const Decision& decision);
base::Expected<Decision> read_decision(const nlohmann::json& document);

}  // namespace esper::leyline
