#include "leyline/observation_json.h"

#include "leyline/observation_members.h"

namespace esper::leyline {

nlohmann::json observation_json(const Observation& observation) { return base::to_json(observation); }

base::Expected<Observation> read_observation(const nlohmann::json& document) {
  return base::from_json<Observation>(document);
}

}  // namespace esper::leyline
