#include "leyline/decision_json.h"

#include "leyline/decision_members.h"

namespace esper::leyline {

nlohmann::json decision_json(const Decision& decision) { return base::to_json(decision); }

}  // namespace esper::leyline
