#include "leyline/decision_json.h"

#include "base/text/json_struct.h"

namespace esper::leyline {

using base::json_member;

static constexpr auto json_members(const CommandSeedOperation*) {
  using S = CommandSeedOperation;
  return std::tuple{json_member("operation", &S::operation), json_member("slot", &S::slot),
                    json_member("blueprint_id", &S::blueprint_id), json_member("parameters", &S::parameters)};
}

static constexpr auto json_members(const AdaptationCommand*) {
  using S = AdaptationCommand;
  return std::tuple{json_member("version", &S::version),
                    json_member("command_id", &S::command_id),
                    json_member("command_type", &S::command_type),
                    json_member("target_seed_id", &S::target_seed_id),
                    json_member("execution_deadline_ms", &S::execution_deadline_ms),
                    json_member("issued_at_ns", &S::issued_at_ns),
                    json_member("issued_by", &S::issued_by),
                    json_member("seed_operation", &S::seed_operation),
                    json_member("annotations", &S::annotations)};
}

static constexpr auto json_members(const Assessment::Blending*) {
  using S = Assessment::Blending;
  return std::tuple{json_member("method", &S::method), json_member("method_index", &S::method_index),
                    json_member("schedule_start", &S::schedule_start), json_member("schedule_end", &S::schedule_end)};
}

static constexpr auto json_members(const Assessment*) {
  using S = Assessment;
  return std::tuple{json_member("value", &S::value),
                    json_member("risk", &S::risk),
                    json_member("risk_index", &S::risk_index),
                    json_member("coverage", &S::coverage),
                    json_member("family_coverage", &S::family_coverage),
                    json_member("network_ms", &S::network_ms),
                    json_member("seed_index", &S::seed_index),
                    json_member("blueprint_index", &S::blueprint_index),
                    json_member("seed_score", &S::seed_score),
                    json_member("blending", &S::blending)};
}

static constexpr auto json_members(const Decision*) {
  using S = Decision;
  return std::tuple{json_member("commands", &S::commands), json_member("reason", &S::reason),
                    json_member("assessment", &S::assessment)};
}

nlohmann::json decision_json(const Decision& decision) { return base::to_json(decision); }

base::Expected<Decision> read_decision(const nlohmann::json& document) { return base::from_json<Decision>(document); }

}  // namespace esper::leyline
