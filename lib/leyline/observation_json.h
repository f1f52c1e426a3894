#pragma once
// An observation as JSON, both ways and exactly: for controllers in other processes, and for the log of decisions. The
// fields have the names of observation.h, stages and kinds those of their tables; base/text/json_struct.h says what is
// refused. Any thread.

#include <nlohmann/json_fwd.hpp>

#include "base/expected.h"
#include "leyline/observation.h"

namespace esper::leyline {

nlohmann::json observation_json(const Observation& observation);
base::Expected<Observation> read_observation(const nlohmann::json& document);

}  // namespace esper::leyline
