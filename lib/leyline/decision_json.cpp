#include "leyline/decision_json.h"

#include "leyline/decision_members.h"

namespace esper::leyline {

nlohmann::json decision_json(const Decision& decision) { return base::to_json(decision); }

base::Expected<Decision> read_decision(const nlohmann::json& document) { return base::from_json<Decision>(document); }

}  // namespace esper::leyline
